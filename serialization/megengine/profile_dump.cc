#include "serialization/megengine/profile_dump.h"

#include <algorithm>
#include <cmath>

#include "graph/static_infer.h"
#include "graph/static_values.h"
#include "graph/status.h"

namespace ashlar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxListedValues = 7;  // with as many or more: "Large Array"

struct FlagName {
  uint32_t flag;
  const char* name;
};

// In the order of MegEngine's arrays.
constexpr FlagName kFlagNames[] = {
    {kNoSysMemAlloc, "NO_SYS_MEM_ALLOC"},
    {kNoSysStaticMemAlloc, "NO_SYS_STATIC_MEM_ALLOC"},
    {kNoMemReclaim, "NO_MEM_RECLAIM"},
    {kVolatileContent, "VOLATILE_CONTENT"},
    {kAllowEmptyShape, "ALLOW_EMPTY_SHAPE"},
    {kPersistentDeviceValue, "PERSISTENT_DEVICE_VALUE"},
    {kDisallowRtForceDynamicMemAlloc, "DISALLOW_RT_FORCE_DYNAMIC_MEM_ALLOC"},
};

struct ParamToJson {
  template <typename T>
  Json operator()(const T& value) const {
    return Json(value);
  }
};

// Several columns make an array of rows, as Subtensor's parameters do in MegEngine. Inputs of a
// graph have none there.
Json Params(const Operator& op) {
  if (op.role() == Role::kInput) return Json::object();
  Json object = Json::object(), rows = Json::array();
  int columns = 0;
  for (const auto& [name, value] : op.params()) {
    object[name] = std::visit(ParamToJson(), value);
    const auto* column = std::get_if<std::vector<int64_t>>(&value);
    if (column == nullptr) continue;
    ++columns;
    for (size_t row = 0; row < column->size(); ++row) rows[row][name] = (*column)[row];
  }
  return columns > 1 ? rows : object;
}

Json Ids(const Graph& graph, absl::Span<const int> vars) {
  Json list = Json::array();
  for (int var : vars) list.push_back(absl::StrCat(graph.var(var).id));
  return list;
}

Json Dims(const Shape& shape) {
  return Json(std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
}

// Where the bytes of a var are, once there is a session.
class Places {
 public:
  Places(const PlannedGraph& planned, const ProfileRecord& record)
      : planned_(planned), record_(record) {
    for (size_t e = 0; e < planned.weights.entries.size(); ++e) {
      weight_entry_.resize(planned.graph.vars().size(), -1);
      const int var = planned.weights.entries[e].var;
      if (weight_entry_[var] < 0) weight_entry_[var] = static_cast<int>(e);
    }
    weight_entry_.resize(planned.graph.vars().size(), -1);
    workspace_of_.assign(planned.graph.vars().size(), -1);
    for (size_t n = 0; n < planned.graph.nodes().size(); ++n) {
      const OperatorNode& node = planned.graph.node(static_cast<int>(n));
      if (node.op->has_workspace()) workspace_of_[node.outputs.back()] = static_cast<int>(n);
    }
  }

  // Node whose workspace the var is, or -1.
  int WorkspaceNode(int var) const { return workspace_of_[var]; }

  // Logical bytes of storage: a workspace's is its kernel's scratch.
  int64_t Bytes(int var) const {
    const int node = workspace_of_[var];
    return node >= 0 ? planned_.workspace[node] : planned_.graph.var(var).type.bytes();
  }

  // Address, or 0 where the var has no memory of Ashlar's.
  int64_t Address(int var) const {
    const auto base = [](const void* pointer) { return reinterpret_cast<int64_t>(pointer); };
    if (const int node = workspace_of_[var]; node >= 0) {
      const int64_t offset = planned_.WorkspaceOffset(node);
      return offset < 0 ? 0 : base(record_.arena) + offset;
    }
    if (const int64_t offset = planned_.ArenaOffset(var); offset >= 0) {
      return base(record_.arena) + offset;
    }
    if (weight_entry_[var] >= 0) {
      return base(record_.weights) + planned_.weights.entries[weight_entry_[var]].offset;
    }
    return 0;
  }

 private:
  const PlannedGraph& planned_;
  const ProfileRecord& record_;
  std::vector<int> weight_entry_, workspace_of_;  // by var
};

Json TagJson(const Graph& graph, const InferTag& tag, Json result) {
  Json deps = Json::array();
  for (const InferTag::Dep& dep : tag.deps) {
    deps.push_back({{"var", absl::StrCat(graph.var(dep.var).id)},
                    {"dep_type", dep.value ? "VALUE" : "SHAPE"}});
  }
  return {{"node_type", "static_infer_tag"},
          {"infer_type", std::string(Name(tag.type))},
          {"deps", deps},
          {"inferred_result", std::move(result)}};
}

bool IsListed(const Shape& shape) { return shape.rank() == 1 && shape[0] < kMaxListedValues; }

// The value of a var as far as it is known before a run; null where it is not.
Json ValueJson(const Graph& graph, int index, InferType type, StaticValues& values) {
  if (type != InferType::kConst) return nullptr;
  if (!IsListed(graph.var(index).type.shape)) return "Large Array";
  const HostTensor* value = values.Find(graph, index);
  if (value == nullptr) return nullptr;
  Json list = Json::array();
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    const double element = value->At(i);
    if (element == static_cast<double>(static_cast<int64_t>(element))) {
      list.push_back(static_cast<int64_t>(element));
    } else {
      list.push_back(element);
    }
  }
  return list;
}

Json VarJson(const PlannedGraph& planned, const Places& places, int index, const InferTags& tags,
             StaticValues& values) {
  const Graph& graph = planned.graph;
  const Var& var = graph.var(index);
  Json flags = Json::array();
  for (const FlagName& flag : kFlagNames) {
    if (var.flags & flag.flag) flags.push_back(flag.name);
  }
  Json json = {{"node_type", "var"},
               {"id", absl::StrCat(var.id)},
               {"name", var.name},
               {"comp_node", var.comp_node.ToString()},
               {"flag", flags}};
  const int64_t address = places.Address(index);
  json["dev_ptr"] = address == 0 ? Json(nullptr) : Json(address);
  json["prev_dev_ptr"] = address;
  if (address != 0) json["prev_dev_ptr_end"] = address + places.Bytes(index);

  const bool workspace = places.WorkspaceNode(index) >= 0;
  const VarView view = planned.model.views[index];
  if (!workspace && view.storage < 0) {
    json["mem_plan"] = nullptr;
  } else {
    const int owner = workspace ? index : planned.model.storages[view.storage].owner;
    const Shape shape = workspace ? Shape{places.Bytes(index)} : var.type.shape;
    const auto strides = ContiguousStrides(shape);
    json["mem_plan"] = {{"mem_chunk_id", absl::StrCat("chk", graph.var(owner).id)},
                        {"offset_byte", workspace ? 0 : view.offset},
                        {"layout",
                         {{"shape", Dims(shape)},
                          {"stride", std::vector<int64_t>(strides.begin(), strides.end())},
                          {"dtype", std::string(Name(var.type.dtype))}}}};
  }
  Json forwarded = nullptr;
  if (!workspace && view.storage >= 0 && planned.model.storages[view.storage].owner != index) {
    for (int input : graph.node(var.producer).inputs) {
      if (planned.model.views[input].storage == view.storage) {
        forwarded = absl::StrCat(graph.var(input).id);
        break;
      }
    }
  }
  json["mem_readonly_fwd_src"] = forwarded;
  json["force_update_src"] = nullptr;
  Json shape_result = nullptr;
  if (tags.shape.type != InferType::kNoDesc) {
    shape_result = Dims(workspace ? Shape{places.Bytes(index)} : var.type.shape);
  }
  json["static_infer_tags"] = {
      {"SHAPE", TagJson(graph, tags.shape, std::move(shape_result))},
      {"VALUE", TagJson(graph, tags.value, ValueJson(graph, index, tags.value.type, values))}};
  return json;
}

Json FootprintJson(const Graph& graph, const OperatorNode& node) {
  const std::vector<TensorType> inputs = graph.InputTypes(node);
  const std::vector<TensorType> outputs = graph.OutputTypes(node);
  const Footprint footprint = FootprintOf(*node.op, inputs, outputs);
  Json in_shapes = Json::array(), out_shapes = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool on_device = node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
    in_shapes.push_back(on_device ? Dims(inputs[i].shape) : Json::array());
  }
  // MegEngine takes the footprint before it knows the shape of what the caller supplies.
  int64_t unknown = 0;
  for (int output : graph.value_outputs(node)) {
    const Var& var = graph.var(output);
    const bool known = (var.flags & kNoSysMemAlloc) == 0;
    out_shapes.push_back(known ? Dims(var.type.shape) : Json::array());
    if (!known) unknown += var.type.shape.num_elements() * SizeOf(var.type.dtype);
  }
  return {{"memory", footprint.memory - unknown},
          {"computation", footprint.computation == 0 ? Json(nullptr) : Json(footprint.computation)},
          {"in_shapes", in_shapes},
          {"out_shapes", out_shapes},
          {"param", Params(*node.op)}};
}

// Post-order numbers, by node, of a depth-first walk from what reads last; -1 where not scheduled.
std::vector<int> DepthFirstNumbers(const Graph& graph, const std::vector<bool>& scheduled) {
  std::vector<int> numbers(graph.nodes().size(), -1);
  std::vector<bool> open(graph.nodes().size(), false);
  int next = 0;
  for (size_t last = graph.nodes().size(); last-- > 0;) {
    std::vector<int> stack = {static_cast<int>(last)};
    while (!stack.empty()) {
      const int top = stack.back();
      if (open[top] || !scheduled[top]) {
        stack.pop_back();
        if (scheduled[top] && numbers[top] < 0) numbers[top] = next++;
        continue;
      }
      open[top] = true;
      for (int input : graph.node(top).inputs) stack.push_back(graph.var(input).producer);
    }
  }
  return numbers;
}

// Seconds as MegEngine writes them for the host.
double ToMicroseconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

}  // namespace

Json GraphDump(const PlannedGraph& planned, const ProfileRecord& record) {
  const Graph& graph = planned.graph;
  const Places places(planned, record);
  const std::vector<InferTags> tags = ComputeInferTags(graph);
  const std::vector<int> depth_first = DepthFirstNumbers(graph, planned.model.scheduled);
  StaticValues values;
  std::vector<int> position(graph.nodes().size(), -1);
  Json comp_seq = Json::array();
  for (size_t i = 0; i < planned.schedule.order.size(); ++i) {
    position[planned.schedule.order[i]] = static_cast<int>(i);
    comp_seq.push_back(absl::StrCat(graph.node(planned.schedule.order[i]).id));
  }
  Json operators = Json::object(), vars = Json::object(), chunks = Json::object();
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    Json extra = Json::object();
    if (position[n] >= 0) {
      extra["priority"] = node.priority;
      extra["input_update_time"] = planned.schedule.input_update_time.empty()
                                       ? position[n]
                                       : planned.schedule.input_update_time[position[n]];
      extra["dfs_step_num"] = depth_first[n];
    }
    operators[absl::StrCat(node.id)] = {
        {"node_type", "operator"},
        {"id", absl::StrCat(node.id)},
        {"name", node.name},
        {"type", std::string(node.op->type())},
        {"input", Ids(graph, node.inputs)},
        {"output", Ids(graph, node.outputs)},
        {"extra", extra},
        {"waiting_spec", position[n] >= 0 ? Json::object() : Json(nullptr)}};
    for (int output : node.outputs) {
      const Var& var = graph.var(output);
      vars[absl::StrCat(var.id)] = VarJson(planned, places, output, tags[output], values);
      const VarView view = planned.model.views[output];
      const bool owner =
          places.WorkspaceNode(output) >= 0 ||
          (view.storage >= 0 && planned.model.storages[view.storage].owner == output);
      if (!owner) continue;
      const int64_t address = places.Address(output);
      const std::string id = absl::StrCat("chk", var.id);
      chunks[id] = {{"node_type", "mem_chunk"},
                    {"id", id},
                    {"size", places.Bytes(output)},
                    {"owner_var", absl::StrCat(var.id)},
                    {"dev_ptr", address == 0 ? Json(nullptr) : Json(address)}};
    }
  }
  return {{"comp_seq", comp_seq}, {"operator", operators}, {"var", vars}, {"mem_chunk", chunks}};
}

Json MemoryReport(const PlannedGraph& planned, const std::optional<Measurement>& measured) {
  const Graph& graph = planned.graph;
  const memory::PlanResult& plan = planned.plan;
  const int bottleneck = planned.schedule.order.empty()
                             ? -1
                             : planned.schedule.order[static_cast<size_t>(plan.bottleneck_step)];
  Json chunks = Json::object();
  const auto add = [&](int var, int buffer) {
    if (buffer < 0) return;
    const memory::Buffer& b = planned.lifetimes.problem.buffers[buffer];
    chunks[absl::StrCat("chk", graph.var(var).id)] = {{"offset", plan.plan.offsets[buffer]},
                                                      {"size", b.size},
                                                      {"time_begin", b.lower},
                                                      {"time_end", b.upper}};
  };
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    add(planned.model.storages[s].owner, planned.lifetimes.storage_buffer[s]);
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (!node.outputs.empty()) add(node.outputs.back(), planned.lifetimes.workspace_buffer[n]);
  }
  const auto pool = [](int64_t bytes, const PoolMeasurement* measurement) {
    Json json = {{"planned_bytes", bytes}};
    if (measurement != nullptr) {
      json["actual_bytes"] = measurement->actual_bytes;
      json["method"] = measurement->method;
    }
    return json;
  };
  const Measurement* m = measured.has_value() ? &*measured : nullptr;
  return {{"arena_bytes", plan.plan.arena},
          {"lower_bound_bytes", plan.lower_bound},
          {"proof", std::string(memory::ProofName(plan.proof))},
          {"planner", plan.plan.planner},
          {"scheduler", planned.options.scheduler},
          {"bottleneck_step", plan.bottleneck_step},
          {"bottleneck_operator", bottleneck < 0 ? "" : graph.node(bottleneck).name},
          {"pools",
           {{"arena", pool(plan.plan.arena, m ? &m->arena : nullptr)},
            {"weights", pool(planned.weights.bytes, m ? &m->weights : nullptr)},
            {"input", pool(planned.input_bytes(), m ? &m->input : nullptr)},
            {"output", pool(planned.output_bytes(), m ? &m->output : nullptr)}}},
          {"chunks", chunks}};
}

Json ProfileDump(const PlannedGraph& planned, const ProfileRecord& record) {
  const Graph& graph = planned.graph;
  const std::string comp_node = planned.options.comp_node.ToString();
  Json device = Json::object(), host = Json::object(), footprints = Json::object();
  double now = 0;  // what does not run takes no time, where it stands
  for (size_t i = 0; i < planned.schedule.order.size(); ++i) {
    const OperatorNode& node = graph.node(planned.schedule.order[i]);
    const std::string id = absl::StrCat(node.id);
    StepTime time{now, now};
    if (i < record.steps.size() && record.steps[i].end > now) time = record.steps[i];
    now = time.end;
    device[id] = {{comp_node, {{"start", time.start}, {"kern", time.start}, {"end", time.end}}}};
    const StepTime& at_host = i < record.host_steps.size() ? record.host_steps[i] : time;
    const double start = ToMicroseconds(at_host.start), end = ToMicroseconds(at_host.end);
    host[id] = {{"main", {{"start", start}, {"kern", start}, {"end", end}}}};
    footprints[id] = FootprintJson(graph, node);
  }
  return {{"graph_exec", GraphDump(planned, record)},
          {"profiler",
           {{"device", device},
            {"host", host},
            {"opr_footprint", footprints},
            {"opr_internal_pf", Json::object()}}},
          {"memory_report", MemoryReport(planned, record.measured)}};
}

}  // namespace ashlar

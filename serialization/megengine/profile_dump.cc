#include "serialization/megengine/profile_dump.h"

#include <algorithm>
#include <cmath>

#include "graph/static_values.h"
#include "graph/status.h"
#include "serialization/megengine/conventions.h"
#include "serialization/megengine/static_infer.h"

namespace ashlar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxListedValues = 7;  // with this many or more: "Large Array"

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

// Several columns give an array of rows, like Subtensor's parameters in MegEngine. Inputs of a
// graph have no parameters there.
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

// Returns by node the id of its workspace as a var of the dump. A node has one if MegEngine has
// one, or if the plan has workspace; otherwise -1. Workspaces that were not recorded get new ids.
std::vector<int> WorkspaceIds(const PlannedGraph& planned) {
  const Graph& graph = planned.graph;
  std::vector<int> ids(graph.nodes().size(), -1);
  int next_id = graph.next_id();
  for (size_t n = 0; n < ids.size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (node.recorded_workspace) {
      ids[n] = node.recorded_workspace->id;
    } else if (ConventionsOf(node.op->type()).has_workspace || planned.workspace[n] > 0) {
      ids[n] = next_id++;
    }
  }
  return ids;
}

// The addresses of vars, if there is a session.
class Places {
 public:
  Places(const PlannedGraph& planned, const ProfileRecord& record)
      : planned_(planned), record_(record) {}

  // Returns the address, or 0 if the var has no memory managed by Ashlar.
  int64_t Address(int var) const {
    const std::optional<Location> location = planned_.Locate(var);
    if (!location.has_value()) return 0;
    if (location->pool == Pool::kArena) return InArena(location->offset);
    if (location->pool == Pool::kState) {
      return reinterpret_cast<int64_t>(record_.state) + location->offset +
             planned_.state.entries[location->binding].offset;
    }
    if (location->pool != Pool::kWeights) return 0;
    const void* const weights = location->binding >= 0
                                    ? planned_.weights.entries[location->binding].packed.get()
                                    : record_.weights;
    return reinterpret_cast<int64_t>(weights) + location->offset;
  }
  int64_t WorkspaceAddress(int node) const {
    const std::optional<Location> location = planned_.LocateWorkspace(node);
    return location.has_value() ? InArena(location->offset) : 0;
  }

 private:
  int64_t InArena(int64_t offset) const {
    return reinterpret_cast<int64_t>(record_.arena) + offset;
  }

  const PlannedGraph& planned_;
  const ProfileRecord& record_;
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

// Returns the value of a var if it is known before a run; otherwise null.
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

// A var of the graph, or a workspace, in the form of the dump.
struct WrittenVar {
  int id = 0;
  std::string name;
  CompNode comp_node;
  uint32_t flags = 0;
  TensorType type;
  int64_t address = 0;  // 0: not managed by Ashlar
  int chunk = -1;       // the var that owns its chunk; -1: no chunk
  int64_t offset = 0;   // in the chunk, in bytes
  int forwarded = -1;   // the input of which it is a view
  InferTag shape = {}, value = {};
  Json value_result = nullptr;

  bool owns_chunk() const { return chunk == id; }
};

WrittenVar VarOfGraph(const PlannedGraph& planned, const Places& places, int index, uint32_t flags,
                      const InferTags& tags, StaticValues& values) {
  const Graph& graph = planned.graph;
  const Var& var = graph.var(index);
  WrittenVar written{.id = var.id,
                     .name = var.name,
                     .comp_node = var.comp_node,
                     .flags = flags,
                     .type = var.type,
                     .address = places.Address(index),
                     .shape = tags.shape,
                     .value = tags.value,
                     .value_result = ValueJson(graph, index, tags.value.type, values)};
  const VarView view = planned.model.views[index];
  if (view.storage < 0) return written;
  const int owner = planned.model.storages[view.storage].owner;
  written.chunk = graph.var(owner).id;
  written.offset = view.offset;
  if (owner == index) return written;
  for (int input : graph.node(var.producer).inputs) {
    if (planned.model.views[input].storage != view.storage) continue;
    written.forwarded = graph.var(input).id;
    break;
  }
  return written;
}

WrittenVar VarOfWorkspace(const PlannedGraph& planned, const Places& places, int index, int id,
                          const std::vector<InferTags>& tags) {
  const OperatorNode& node = planned.graph.node(index);
  return {.id = id,
          .name = node.workspace_name(),
          .comp_node = planned.graph.var(node.outputs[0]).comp_node,
          .flags = kWorkspaceFlags,
          .type = {DType::kByte, Shape{planned.workspace[index]}},
          .address = places.WorkspaceAddress(index),
          .chunk = id,
          .shape = WorkspaceShapeTag(node, tags)};
}

std::string ChunkId(int owner_id) { return absl::StrCat("chk", owner_id); }

Json VarJson(const Graph& graph, const WrittenVar& var) {
  Json flags = Json::array();
  for (const FlagName& flag : kFlagNames) {
    if (var.flags & flag.flag) flags.push_back(flag.name);
  }
  Json json = {{"node_type", "var"},
               {"id", absl::StrCat(var.id)},
               {"name", var.name},
               {"comp_node", var.comp_node.ToString()},
               {"flag", flags}};
  json["dev_ptr"] = var.address == 0 ? Json(nullptr) : Json(var.address);
  json["prev_dev_ptr"] = var.address;
  if (var.address != 0) json["prev_dev_ptr_end"] = var.address + var.type.bytes();
  json["mem_plan"] = nullptr;
  if (var.chunk >= 0) {
    const auto strides = ContiguousStrides(var.type.shape);
    json["mem_plan"] = {{"mem_chunk_id", ChunkId(var.chunk)},
                        {"offset_byte", var.offset},
                        {"layout",
                         {{"shape", Dims(var.type.shape)},
                          {"stride", std::vector<int64_t>(strides.begin(), strides.end())},
                          {"dtype", std::string(Name(var.type.dtype))}}}};
  }
  json["mem_readonly_fwd_src"] =
      var.forwarded < 0 ? Json(nullptr) : Json(absl::StrCat(var.forwarded));
  json["force_update_src"] = nullptr;
  const bool has_shape = var.shape.type != InferType::kNoDesc;
  json["static_infer_tags"] = {
      {"SHAPE", TagJson(graph, var.shape, has_shape ? Dims(var.type.shape) : Json(nullptr))},
      {"VALUE", TagJson(graph, var.value, var.value_result)}};
  return json;
}

Json ChunkJson(const WrittenVar& owner) {
  return {{"node_type", "mem_chunk"},
          {"id", ChunkId(owner.id)},
          {"size", owner.type.bytes()},
          {"owner_var", absl::StrCat(owner.id)},
          {"dev_ptr", owner.address == 0 ? Json(nullptr) : Json(owner.address)}};
}

Json FootprintJson(const Graph& graph, const OperatorNode& node, absl::Span<const uint32_t> flags) {
  const OwnedSite site = graph.SiteOf(node);
  const Footprint footprint = FootprintOf(*node.op, site);
  Json in_shapes = Json::array(), out_shapes = Json::array();
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    const bool on_device = node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
    in_shapes.push_back(on_device ? Dims(site.inputs[i].type.shape) : Json::array());
  }
  // MegEngine computes the footprint before it knows the shapes of the caller's tensors.
  int64_t unknown = 0;
  for (int output : node.outputs) {
    const Var& var = graph.var(output);
    const bool known = (flags[output] & kNoSysMemAlloc) == 0;
    out_shapes.push_back(known ? Dims(var.type.shape) : Json::array());
    if (!known) unknown += var.type.shape.num_elements() * SizeOf(var.type.dtype);
  }
  return {{"memory", footprint.memory - unknown},
          {"computation", footprint.computation == 0 ? Json(nullptr) : Json(footprint.computation)},
          {"in_shapes", in_shapes},
          {"out_shapes", out_shapes},
          {"param", Params(*node.op)}};
}

// Returns post-order numbers, by node, of a depth-first walk from the last readers; -1 if not
// scheduled.
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

// Rounds seconds as MegEngine does for the host.
double ToMicroseconds(double seconds) { return std::round(seconds * 1e6) / 1e6; }

}  // namespace

Json GraphDump(const PlannedGraph& planned, const ProfileRecord& record) {
  const Graph& graph = planned.graph;
  const Places places(planned, record);
  const std::vector<InferTags> tags = ComputeInferTags(graph);
  const std::vector<uint32_t> flags = FlagsOfVars(graph);
  const std::vector<int> workspaces = WorkspaceIds(planned);
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
    Json outputs = Ids(graph, node.outputs);
    if (workspaces[n] >= 0) outputs.push_back(absl::StrCat(workspaces[n]));
    operators[absl::StrCat(node.id)] = {
        {"node_type", "operator"},
        {"id", absl::StrCat(node.id)},
        {"name", node.name},
        {"type", std::string(node.op->type())},
        {"input", Ids(graph, node.inputs)},
        {"output", outputs},
        {"extra", extra},
        {"waiting_spec", position[n] >= 0 ? Json::object() : Json(nullptr)}};
    const auto write = [&](const WrittenVar& var) {
      vars[absl::StrCat(var.id)] = VarJson(graph, var);
      if (var.owns_chunk()) chunks[ChunkId(var.id)] = ChunkJson(var);
    };
    for (int output : node.outputs) {
      write(VarOfGraph(planned, places, output, flags[output], tags[output], values));
    }
    if (workspaces[n] >= 0) {
      write(VarOfWorkspace(planned, places, static_cast<int>(n), workspaces[n], tags));
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
  const auto add = [&](int owner_id, int buffer) {
    if (buffer < 0) return;
    const memory::Buffer& b = planned.lifetimes.problem.buffers[buffer];
    chunks[ChunkId(owner_id)] = {{"offset", plan.plan.offsets[buffer]},
                                 {"size", b.size},
                                 {"time_begin", b.lower},
                                 {"time_end", b.upper}};
  };
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    if (planned.model.storages[s].whole >= 0) continue;  // a sub-buffer of a donated input
    add(graph.var(planned.model.storages[s].owner).id, planned.lifetimes.storage_buffer[s]);
  }
  const std::vector<int> workspaces = WorkspaceIds(planned);
  for (size_t n = 0; n < workspaces.size(); ++n) {
    add(workspaces[n], planned.lifetimes.workspace_buffer[n]);
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
  Json pools = {{"arena", pool(plan.plan.arena, m ? &m->arena : nullptr)},
                {"weights", pool(planned.weights.bytes, m ? &m->weights : nullptr)}};
  if (planned.state.bytes > 0) pools["state"] = pool(planned.state.bytes, m ? &m->state : nullptr);
  pools["input"] = pool(planned.input_bytes(), m ? &m->input : nullptr);
  pools["output"] = pool(planned.output_bytes(), m ? &m->output : nullptr);
  return {{"arena_bytes", plan.plan.arena},
          {"lower_bound_bytes", plan.lower_bound},
          {"proof", std::string(memory::ProofName(plan.proof))},
          {"planner", plan.plan.planner},
          {"scheduler", std::string(Name(planned.planning.order))},
          {"bottleneck_step", plan.bottleneck_step},
          {"bottleneck_operator", bottleneck < 0 ? "" : graph.node(bottleneck).name},
          {"pools", pools},
          {"chunks", chunks}};
}

Json ProfileDump(const PlannedGraph& planned, const ProfileRecord& record) {
  const Graph& graph = planned.graph;
  const std::string comp_node = planned.request.target.comp_node.ToString();
  Json device = Json::object(), host = Json::object(), footprints = Json::object();
  const std::vector<uint32_t> flags = FlagsOfVars(graph);
  double now = 0;  // a node that does not run takes no time at its position
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
    footprints[id] = FootprintJson(graph, node, flags);
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

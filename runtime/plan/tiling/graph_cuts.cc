#include "runtime/plan/tiling/graph_cuts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/base/operands.h"
#include "opr/host_io.h"
#include "opr/table.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

// Cuts at several vars: at most so many, of at most so many vars, if so many operators have no cut
// at a single one.
constexpr size_t kMostWide = 4, kMostVars = 8;
constexpr int kFar = 16;

// The input of a graph between cuts, of any type that a var can have, quantised ones included.
class CutInput final : public Operator {
 public:
  explicit CutInput(TensorType type) : type_(std::move(type)) {}
  absl::string_view type() const override { return "CutInput"; }
  std::string base_name() const override { return "from"; }
  ParamList params() const override { return {}; }
  Role role() const override { return Role::kInput; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo>) const override {
    return std::vector<TensorType>{type_};
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor>) const override {
    return absl::FailedPreconditionError("the input of a part has no value");
  }

 private:
  TensorType type_;
};

// Returns the node for the first `images` of `all` images: unchanged, except for constants of all
// images and operators whose parameters contain the number of images. InvalidArgument if it does
// not compute image by image.
absl::StatusOr<Replacement> OfImages(const Graph& graph, const OperatorNode& node, int64_t images,
                                     int64_t all) {
  std::vector<Operand> operands = OwnOperands(node.inputs.size());
  if (images == all || node.op->role() != Role::kCompute) return Replacement{node.op, operands};
  const OwnedSite site = graph.SiteOf(node);
  const auto error = [&] {
    return absl::InvalidArgumentError(absl::StrCat(node.name, " does not make image by image"));
  };
  if (site.outputs.size() != 1 || site.outputs[0].shape.rank() == 0) return error();
  Region region = WholeRegion(site.outputs[0].shape);
  region[0].end = region[0].end / all * images;
  const std::optional<std::vector<Region>> needed = node.op->InputRegions(region, site);
  if (!needed || region[0].end == 0) return error();
  if (std::optional<Replacement> at = node.op->AtRegion(region, *needed, site)) {
    return *std::move(at);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const HostTensor* const value = graph.constant(node.inputs[i]);
    if (value == nullptr || node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) {
      continue;
    }
    const Region& part = (*needed)[i];
    if (part == WholeRegion(value->shape())) continue;
    Shape shape = value->shape();
    if (part[0].begin != 0) return error();
    shape[0] = part[0].end;
    // The first images are the first bytes.
    const auto owner = std::make_shared<const HostTensor>(*value);
    operands[i] = {Operand::From::kConstant, 0,
                   HostTensor::Borrow(value->dtype(), shape, owner, value->raw())
                       .As(value->dtype(), value->quantization())};
  }
  return Replacement{node.op, std::move(operands)};
}

std::vector<int> PositionsOf(const Graph& graph, absl::Span<const int> order) {
  std::vector<int> position(graph.nodes().size(), -1);
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  return position;
}

// Returns a cut at several vars; var is -1 if there are none.
GraphCut CutAt(int position, std::vector<int> vars) {
  GraphCut cut{-1, position};
  if (vars.empty()) return cut;
  cut.var = vars.back();
  vars.pop_back();
  cut.also = std::move(vars);
  return cut;
}

// Returns the cut after each computing node of an order: the vars that later ones read.
std::vector<GraphCut> CutsAfterNodes(const Graph& graph, absl::Span<const int> order) {
  const std::vector<int> position = PositionsOf(graph, order);
  std::vector<GraphCut> cuts;
  std::vector<std::pair<int, int>> live;  // vars, and the position of the last reader
  for (size_t i = 0; i < order.size(); ++i) {
    const OperatorNode& node = graph.node(order[i]);
    if (node.op->role() == Role::kConstant || node.op->role() == Role::kOutput) continue;
    const int at = static_cast<int>(i);
    for (int var : node.outputs) {
      int last = at;
      for (int reader : graph.readers(var)) {
        if (graph.node(reader).op->role() == Role::kCompute)
          last = std::max(last, position[reader]);
      }
      live.emplace_back(var, last);
    }
    std::erase_if(live, [&](const auto& entry) { return entry.second <= at; });
    if (node.op->role() != Role::kCompute) continue;
    std::vector<int> vars;
    for (const auto& [var, last] : live) vars.push_back(var);
    cuts.push_back(CutAt(at, std::move(vars)));
  }
  return cuts;
}

bool IsImage(const Graph& graph, int node) {
  const OperatorNode& n = graph.node(node);
  return n.op->role() == Role::kCompute && n.outputs.size() == 1 &&
         graph.var(n.outputs[0]).type.shape.rank() == 4;
}

}  // namespace

std::vector<int> GraphCut::vars() const {
  std::vector<int> all = {var};
  all.insert(all.end(), also.begin(), also.end());
  return all;
}

std::vector<GraphCut> FindCuts(const Graph& graph, absl::Span<const int> order) {
  std::vector<GraphCut> cuts;
  if (graph.inputs().size() != 1) return cuts;
  const std::vector<int> position = PositionsOf(graph, order);
  int until = -1;  // the last position at which a var from before the last cut is read
  for (size_t i = 0; i < order.size(); ++i) {
    const OperatorNode& node = graph.node(order[i]);
    if (node.op->role() == Role::kConstant || node.op->role() == Role::kOutput) continue;
    const bool single = until <= static_cast<int>(i) && node.outputs.size() == 1;
    for (int var : node.outputs) {
      for (int reader : graph.readers(var)) until = std::max(until, position[reader]);
    }
    const bool begins = node.op->role() == Role::kInput;
    if (begins || (single && !cuts.empty())) cuts.push_back({node.outputs[0], static_cast<int>(i)});
  }
  return cuts;
}

std::vector<bool> NodesAfterImages(const Graph& graph) {
  std::vector<bool> after(graph.nodes().size(), true);
  for (size_t i = after.size(); i-- > 0;) {
    const int node = static_cast<int>(i);
    if (IsImage(graph, node)) after[i] = false;
    if (after[i]) continue;
    for (int var : graph.node(node).inputs) after[graph.var(var).producer] = false;
  }
  return after;
}

std::vector<GraphCut> FindWideCuts(const Graph& graph, absl::Span<const int> order) {
  std::vector<GraphCut> narrow = FindCuts(graph, order);
  if (narrow.empty()) return narrow;
  const std::vector<GraphCut> after = CutsAfterNodes(graph, order);
  if (after.empty()) return narrow;
  if (narrow.back().position < after.back().position) {
    std::vector<int> outputs;
    for (const Binding& output : graph.outputs()) outputs.push_back(output.var);
    narrow.push_back(CutAt(after.back().position, std::move(outputs)));
  }
  const auto bytes = [&](const GraphCut& cut) {
    int64_t sum = 0;
    for (int var : cut.vars()) sum += var < 0 ? 0 : graph.var(var).type.bytes();
    return sum;
  };
  const std::vector<bool> after_images = NodesAfterImages(graph);
  // Tiles begin and end at images. What follows them may pass.
  const auto is_end = [&](const GraphCut& cut) {
    const std::vector<int> vars = cut.vars();
    return cut.var >= 0 && vars.size() <= kMostVars &&
           std::all_of(vars.begin(), vars.end(), [&](int var) {
             const int producer = graph.var(var).producer;
             return IsImage(graph, producer) || after_images[producer];
           });
  };
  std::vector<GraphCut> wide;
  size_t first = 0;  // of the nodes after the last cut at a single var
  for (size_t i = 0, next = 1; i < after.size() && next < narrow.size(); ++i) {
    if (after[i].position < narrow[next].position) continue;
    const bool is_far = i - first >= kFar;
    for (size_t k = first + 1; is_far && k + 1 < i; ++k) {
      if (is_end(after[k]) && bytes(after[k]) <= bytes(after[k - 1]) &&
          bytes(after[k]) < bytes(after[k + 1])) {
        wide.push_back(after[k]);
      }
    }
    first = i + 1;
    ++next;
  }
  const size_t count = std::min(wide.size(), kMostWide);
  std::vector<GraphCut> cuts = std::move(narrow);
  for (size_t k = 0; k < count; ++k) cuts.push_back(wide[k * wide.size() / count]);
  std::sort(cuts.begin(), cuts.end(),
            [](const GraphCut& a, const GraphCut& b) { return a.position < b.position; });
  return cuts;
}

TileSegment SegmentBetween(const Graph& graph, absl::Span<const int> order, const GraphCut& from,
                           const GraphCut& to) {
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  TileSegment segment;
  segment.from = id(from.var), segment.to = id(to.var);
  const std::vector<int> position = PositionsOf(graph, order);
  const auto is_inside = [&](int node) {
    return IsImage(graph, node) && position[node] > from.position && position[node] <= to.position;
  };
  const auto is_read_inside = [&](int var) {
    const std::vector<int>& readers = graph.readers(var);
    return std::any_of(readers.begin(), readers.end(), is_inside);
  };
  std::vector<int> begins, ends;
  for (int var : from.vars()) {
    if (is_read_inside(var)) begins.push_back(id(var));
  }
  for (int i = to.position; i > from.position; --i) {
    if (!is_inside(order[i])) continue;
    const std::vector<int>& outputs = graph.node(order[i]).outputs;
    if (std::none_of(outputs.begin(), outputs.end(), is_read_inside)) {
      ends.push_back(graph.node(order[i]).id);
    }
  }
  if (begins.empty() || ends.empty()) return segment;
  segment.from = begins[0], segment.to = ends[0];
  segment.also_from.assign(begins.begin() + 1, begins.end());
  segment.also_to.assign(ends.begin() + 1, ends.end());
  return segment;
}

absl::StatusOr<Graph> GraphBetween(const Graph& graph, absl::Span<const int> order,
                                   const GraphCut& from, const GraphCut& to, int64_t images) {
  GraphBuilder builder(graph.var(from.var).comp_node, graph.next_id());
  absl::flat_hash_map<int, int> map;
  const Shape& whole = graph.var(graph.inputs()[0].var).type.shape;
  const int64_t all = whole.rank() > 0 ? std::max<int64_t>(whole[0], 1) : 1;
  std::vector<int> added;
  for (int var : from.vars()) {
    const TensorType& type = graph.var(var).type;
    TensorType input = type.Reshaped(type.shape);
    if (input.shape.rank() > 0) {
      // If the first axis of a tensor is not the number of images, the same share of it.
      if (input.shape[0] * images % all != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(graph.var(var).name, " has no equal share for each image"));
      }
      input.shape[0] = input.shape[0] * images / all;
    }
    GraphBuilder::NodeOptions options;
    options.name = "from";
    options.binding = absl::StrCat(map.size());  // names of vars may be equal
    options.output_formats = {type.format};
    options.id = graph.node(graph.var(var).producer).id;
    ASHLAR_ASSIGN_OR_RETURN(
        added, builder.Add(std::make_shared<const CutInput>(std::move(input)), {}, options));
    map[var] = added[0];
  }
  std::vector<int> outputs;
  for (int i = from.position + 1; i <= to.position; ++i) {
    const OperatorNode& node = graph.node(order[i]);
    const Role role = node.op->role();
    if (role == Role::kConstant || role == Role::kInput || role == Role::kOutput) continue;
    ASHLAR_ASSIGN_OR_RETURN(const Replacement part, OfImages(graph, node, images, all));
    std::vector<int> inputs;
    for (const Operand& operand : part.operands) {
      const int var = operand.from == Operand::From::kConstant ? -1 : node.inputs[operand.input];
      if (const auto it = map.find(var); it != map.end()) {
        inputs.push_back(it->second);
        continue;
      }
      const HostTensor* value = var < 0 ? &operand.constant : graph.host_value(var);
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(node.name, " reads ", graph.var(var).name, " from before the cut"));
      }
      GraphBuilder::NodeOptions constant;
      if (var >= 0) constant.name = graph.var(var).name;
      ASHLAR_ASSIGN_OR_RETURN(
          added, builder.Add(Operators().MakeConstant(*value), {}, std::move(constant)));
      if (var >= 0) map[var] = added[0];
      inputs.push_back(added[0]);
    }
    GraphBuilder::NodeOptions same;
    same.name = node.name;
    same.id = node.id;
    for (int var : node.outputs) {
      same.output_formats.push_back(graph.var(var).type.format);
    }
    ASHLAR_ASSIGN_OR_RETURN(added, builder.Add(part.op, std::move(inputs), std::move(same)));
    for (size_t k = 0; k < added.size(); ++k) {
      map[node.outputs[k]] = added[k];
      if (IsOutput(graph, node.outputs[k])) outputs.push_back(node.outputs[k]);
    }
  }
  for (int var : to.vars()) {
    if (!IsOutput(graph, var)) outputs.push_back(var);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    GraphBuilder::NodeOptions options;
    options.binding = absl::StrCat(k);
    ASHLAR_RETURN_IF_ERROR(builder
                               .Add(std::make_shared<const OutputCallback>(OutputParam()),
                                    {map.at(outputs[k])}, std::move(options))
                               .status());
  }
  return std::move(builder).Build();
}

}  // namespace ashlar

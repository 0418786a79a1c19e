#include "tests/support/tiled_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "graph/status.h"
#include "graph/tiling/tile_segment.h"
#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/lrn.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/resize.h"
#include "tests/support/graph_maker.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Adds operators one after another to a growing graph; each adds a var to `vars`.
class RandomBuilder {
 public:
  RandomBuilder(std::mt19937_64& random, bool joins, int64_t max_channels, GraphKinds kinds)
      : random_(random), joins_(joins), max_channels_(max_channels), kinds_(kinds) {
    const Shape shape = {Pick(1, 3), Pick(1, max_channels_), Pick(4, 18), Pick(4, 18)};
    vars_.push_back(maker_.Input("x", shape));
  }

  Graph Build() && {
    const int64_t operators = Pick(2, 8);
    for (int64_t i = 0; i < operators; ++i) AddOperator();
    std::vector<bool> read(vars_.back() + 1, false);
    for (int var : read_) read[var] = true;
    for (int var : vars_) {
      if (!read[var]) maker_.Output(var);
    }
    return std::move(maker_).Build();
  }

 private:
  int64_t Pick(int64_t low, int64_t high) { return testing::Pick(random_, low, high); }
  bool Chance(int percent) { return Pick(1, 100) <= percent; }
  const Shape& shape(int var) const { return maker_.var(var).type.shape; }

  int Operand() {
    const size_t from = joins_ ? vars_.size() - 1 - std::min<size_t>(vars_.size() - 1, Pick(0, 2))
                               : vars_.size() - 1;
    return vars_[from];
  }

  template <typename Op>
  void Add(typename Op::Param param, std::vector<int> inputs) {
    read_.insert(read_.end(), inputs.begin(), inputs.end());
    vars_.push_back(maker_.Add<Op>(std::move(param), std::move(inputs)));
  }
  int Random(const Shape& shape) { return maker_.Constant(RandomTensor(random_, shape)); }

  void AddOperator() {
    const int x = Operand();
    const bool all = kinds_ == GraphKinds::kAll;
    const int64_t kind = Pick(0, (joins_ ? 9 : 6) + (all ? 1 : 0));
    if (kind <= 2) return AddConvolution(x);
    if (kind == 3) return AddPooling(x);
    const int64_t channels = shape(x)[1];
    if (kind == 4) {
      if (Chance(50)) return Add<Elemwise>({ScalarFunction::kRelu}, {x});
      const Shape operand = Chance(50) ? Shape{1, channels, 1, 1} : shape(x);
      return Add<Elemwise>({ScalarFunction::kMul}, {x, Random(operand)});
    }
    if (kind == 5) return Add<LRN>({}, {x});
    if (kind == 6) {
      const int variance = maker_.Constant(RandomTensor(random_, {channels}, 0.5, 2));
      return Add<BatchNorm>(
          {}, {x, Random({channels}), Random({channels}), Random({channels}), variance});
    }
    if (kind == 7 && all) return AddMovement(x);
    // A join with an earlier var of the same size.
    for (size_t i = vars_.size(); i-- > 0;) {
      const int y = vars_[i];
      if (y == x || shape(y)[2] != shape(x)[2] || shape(y)[3] != shape(x)[3]) continue;
      if (shape(y)[1] == channels && Chance(70)) {
        return Add<Elemwise>({ScalarFunction::kAdd}, {x, y});
      }
      return Add<Concat>({.axis = 1}, {y, x});
    }
    AddConvolution(x);
  }

  // Adds an operator that only moves elements.
  void AddMovement(int x) {
    const Shape in = shape(x);
    if (in[2] <= 9 && in[3] <= 9 && Chance(50)) {
      ResizeParam param;
      param.axes = {2, 3};
      param.mode = ResizeMode::kNearest;
      param.coordinates = ResizeCoordinates::kAsymmetric;
      param.rounding = ResizeRounding::kFloor;
      const int scales = maker_.Constant(HostTensor::FromValues<float>(
          DType::kFloat32, {2}, {static_cast<float>(Pick(1, 3)), 2.0f}));
      return Add<Resize>(param, {x, scales});
    }
    PadParam param;
    param.begin = {0, 0, Pick(0, 2), Pick(0, 2)};
    param.end = {0, 0, Pick(0, 2), Pick(0, 2)};
    if (Chance(50)) param.value = 0.5;
    Add<Pad>(param, {x});
  }

  void AddConvolution(int x) {
    const Shape in = shape(x);
    ConvBiasParam param;
    param.nonlineMode = Chance(50) ? ScalarFunction::kRelu : ScalarFunction::kIdentity;
    const int64_t window_h = Pick(1, 4), window_w = Pick(1, 4);
    param.dilate_h = Pick(1, 2);
    param.dilate_w = Pick(1, 2);
    param.stride_h = Pick(1, 3);
    param.stride_w = Pick(1, 3);
    // Sometimes more padding than a window: some outputs then see only padding.
    param.pad_h = Pick(0, Chance(5) ? 5 : 2);
    param.pad_w = Pick(0, 2);
    if (Chance(40)) param.pad_h_end = Pick(0, 3);
    if (Chance(40)) param.pad_w_end = Pick(0, 3);
    const auto fits = [](int64_t size, int64_t pad, int64_t end, int64_t window, int64_t dilation) {
      return size + pad + (end == kSamePadding ? pad : end) >= dilation * (window - 1) + 1;
    };
    if (!fits(in[2], param.pad_h, param.pad_h_end, window_h, param.dilate_h) ||
        !fits(in[3], param.pad_w, param.pad_w_end, window_w, param.dilate_w)) {
      return Add<Elemwise>({ScalarFunction::kAbs}, {x});
    }
    Shape filter;
    int64_t out = Pick(1, max_channels_);
    if (in[1] > 1 && Chance(30)) {  // a group for each channel
      param.sparse = SparseMode::kGroup;
      const int64_t each = Pick(1, 2);
      out = in[1] * each;
      filter = {in[1], each, 1, window_h, window_w};
    } else if (in[1] % 2 == 0 && Chance(30)) {
      param.sparse = SparseMode::kGroup;
      out = 2 * out;
      filter = {2, out / 2, in[1] / 2, window_h, window_w};
    } else {
      filter = {out, in[1], window_h, window_w};
    }
    int weights = -1;
    for (const int other : filters_) {  // two convolutions with the same weights
      if (kinds_ == GraphKinds::kAll && shape(other) == filter && Chance(50)) weights = other;
    }
    if (weights < 0) filters_.push_back(weights = Random(filter));
    std::vector<int> inputs = {x, weights, Random({1, out, 1, 1})};
    const ConvBiasForward op(param);
    const Shape result = Value(op.Infer(std::vector<InputInfo>{
        {maker_.var(x).type}, {maker_.var(inputs[1]).type}, {maker_.var(inputs[2]).type}}))[0]
                             .shape;
    for (int z : vars_) {  // a residual
      if (joins_ && shape(z) == result && Chance(60)) {
        inputs.push_back(z);
        break;
      }
    }
    Add<ConvBiasForward>(param, std::move(inputs));
  }

  void AddPooling(int x) {
    const Shape in = shape(x);
    PoolingParam param;
    param.mode = static_cast<PoolingMode>(Pick(0, 2));
    param.window_h = Pick(1, std::min<int64_t>(3, in[2]));
    param.window_w = Pick(1, std::min<int64_t>(3, in[3]));
    param.stride_h = Pick(1, 3);
    param.stride_w = Pick(1, 3);
    param.pad_h = Pick(0, param.window_h - 1);
    param.pad_w = Pick(0, param.window_w - 1);
    // Follows ceil_mode: the last window may extend beyond the end, but must touch the image.
    const auto end = [&](int64_t size, int64_t pad, int64_t window, int64_t stride) {
      const int64_t rest = (size + pad - window) % stride;
      return rest == 0 || stride - rest >= window ? pad : std::max(pad, stride - rest);
    };
    if (Chance(50)) param.pad_h_end = end(in[2], param.pad_h, param.window_h, param.stride_h);
    if (Chance(50)) param.pad_w_end = end(in[3], param.pad_w, param.window_w, param.stride_w);
    const PoolingForward op(param);
    if (!op.Infer(std::vector<InputInfo>{{maker_.var(x).type}}).ok()) {
      return Add<Elemwise>({ScalarFunction::kNegate}, {x});
    }
    Add<PoolingForward>(param, {x});
  }

  std::mt19937_64& random_;
  const bool joins_;
  const int64_t max_channels_;
  const GraphKinds kinds_;
  GraphMaker maker_;
  std::vector<int> vars_, read_, filters_;
};

}  // namespace

Graph RandomImageGraph(std::mt19937_64& random, bool joins, int64_t max_channels,
                       GraphKinds kinds) {
  return RandomBuilder(random, joins, max_channels, kinds).Build();
}

namespace {

// Strips compute some operators again.
void AddAgain(std::mt19937_64& random, const Graph& graph, TileSegment& segment) {
  if (!IsLines(segment.kind)) return;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kCompute || Pick(random, 0, 2) > 0) continue;
    segment.again.push_back(node.id);
    // Not each is within the segment, and read only there.
    if (!FindSegments(graph, {segment}, NodesInOrder(graph)).ok()) segment.again.pop_back();
  }
}

// Returns the size of an image with the fewest rows and with the fewest columns of all images:
// tiles of any segment.
Shape LeastImage(const Graph& graph) {
  Shape least = graph.var(graph.outputs().back().var).type.shape;
  for (const Var& var : graph.vars()) {
    const bool constant = graph.node(var.producer).constant != nullptr;
    if (var.type.shape.rank() != 4 || constant) continue;
    for (int axis = 2; axis < 4; ++axis) least[axis] = std::min(least[axis], var.type.shape[axis]);
  }
  return least;
}

}  // namespace

TileSpec RandomTiles(std::mt19937_64& random, const Graph& graph) {
  const Shape least = LeastImage(graph);
  TileSegment segment;
  segment.from = graph.node(graph.inputs()[0].node).id;
  segment.to = graph.node(graph.var(graph.outputs().back().var).producer).id;
  segment.kind = static_cast<TileKind>(Pick(random, 1, 4));
  segment.count = Pick(random, 1, least[2]);
  const bool grid = segment.kind == TileKind::kGrid || segment.kind == TileKind::kInputGrid;
  if (grid) segment.count_width = Pick(random, 1, least[3]);
  AddAgain(random, graph, segment);
  if (least[0] == 1 || Pick(random, 0, 1) == 0) return {{segment}};
  TileSegment batch = segment;
  batch.kind = TileKind::kBatch;
  batch.count = Pick(random, 1, least[0]);
  batch.count_width = 1;
  batch.again.clear();
  if (segment.kind != TileKind::kInputGrid) batch.inner = {segment};
  return {{batch}};
}

TileSpec RandomWideTiles(std::mt19937_64& random, const Graph& graph) {
  std::vector<int> nodes;
  for (const int node : NodesInOrder(graph)) {
    if (graph.node(node).op->role() == Role::kCompute) nodes.push_back(node);
  }
  const auto count = static_cast<int64_t>(nodes.size());
  const int64_t first = Pick(random, 0, count - 1), last = Pick(random, first, count - 1);
  const auto is_inside = [&](int node) {
    return node >= nodes[first] && node <= nodes[last] &&
           graph.node(node).op->role() == Role::kCompute;
  };
  std::vector<int> from, to;
  for (const int node : NodesInOrder(graph)) {
    for (const int var : graph.node(node).outputs) {
      const std::vector<int>& readers = graph.readers(var);
      const bool is_read = std::any_of(readers.begin(), readers.end(), is_inside);
      const bool is_constant = graph.node(node).op->role() == Role::kConstant;
      if (is_read && !is_constant && !is_inside(node)) from.push_back(graph.node(node).id);
      if (!is_read && is_inside(node)) to.push_back(graph.node(node).id);
    }
  }
  std::shuffle(from.begin(), from.end(), random);
  const Shape least = LeastImage(graph);
  TileSegment segment;
  segment.from = from[0], segment.to = to[0];
  segment.also_from.assign(from.begin() + 1, from.end());
  segment.also_to.assign(to.begin() + 1, to.end());
  constexpr TileKind kKinds[] = {TileKind::kRows, TileKind::kLines, TileKind::kGrid,
                                 TileKind::kRolling};
  segment.kind = kKinds[Pick(random, 0, 3)];
  segment.count = Pick(random, 1, least[2]);
  if (segment.kind == TileKind::kGrid) segment.count_width = Pick(random, 1, least[3]);
  AddAgain(random, graph, segment);
  return {{segment}};
}

absl::StatusOr<std::vector<HostTensor>> Evaluate(const Graph& graph, const HostTensor& input) {
  std::vector<HostTensor> values(graph.vars().size());
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kInput) values[node.outputs[0]] = input;
    if (node.constant != nullptr) values[node.outputs[0]] = *node.constant;
    if (node.op->role() != Role::kCompute) continue;
    std::vector<HostTensor> inputs;
    for (int var : node.inputs) inputs.push_back(values[var]);
    ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, node.op->Evaluate(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) values[node.outputs[i]] = std::move(outputs[i]);
  }
  std::vector<HostTensor> results;
  for (const Binding& output : graph.outputs()) results.push_back(values[output.var]);
  return results;
}

int64_t CountDifferences(const HostTensor& a, const HostTensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return -1;
  const auto size = static_cast<size_t>(SizeOf(a.dtype()));
  const auto *x = static_cast<const char*>(a.raw()), *y = static_cast<const char*>(b.raw());
  int64_t count = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i, x += size, y += size) {
    count += std::memcmp(x, y, size) != 0;
  }
  return count;
}

double RelativeError(const HostTensor& actual, const HostTensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.shape() != expected.shape()) return kInfinity;
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const double a = actual.At(i), e = expected.At(i);
    if (std::isnan(a) != std::isnan(e)) return kInfinity;
    if (std::isnan(e)) continue;
    if (a != e) worst = std::max(worst, std::fabs(a - e));
    largest = std::max(largest, std::fabs(e));
  }
  return worst == 0 ? 0 : worst / largest;
}

std::vector<int> NodesInOrder(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

}  // namespace ashlar::testing

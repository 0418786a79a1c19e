// How counts pass through Slice: bounds may depend on data, and so may the size that is cut.
#include <algorithm>
#include <limits>

#include "opr/gather.h"
#include "serialization/onnx/import/counted.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// The starts or ends of a Slice: the least and the most of each; `var` has the bounds
// of the run.
struct Bounds {
  std::vector<int64_t> least, most;
  OnnxVar var = kNoOnnxVar;

  bool IsOpen(size_t i) const { return least[i] != most[i]; }
  OnnxVar At(OnnxNode& node, size_t i) const {
    return IsOpen(i) ? ElementOf(node, var, static_cast<int64_t>(i)) : node.Integer(most[i]);
  }
};

Bounds BoundsIn(OnnxNode& node, int input, const char* name) {
  Bounds bounds;
  if (node.version() < 10) {
    bounds.least = bounds.most = node.Ints(name);
    return bounds;
  }
  bounds.var = node.input(input);
  const OnnxRange* const range = node.ok() ? node.range(bounds.var) : nullptr;
  if (range == nullptr) {
    bounds.least = bounds.most = node.KnownInts(input, name);
    return bounds;
  }
  for (int64_t i = 0; i < range->most.num_elements(); ++i) {
    bounds.least.push_back(range->least.IntegerAt(i));
    bounds.most.push_back(range->most.IntegerAt(i));
  }
  return bounds;
}

// Returns a bound, from the end if it is negative, within [low, size + high].
OnnxVar Clamped(OnnxNode& node, OnnxVar bound, OnnxVar size, int64_t low, int64_t high) {
  const OnnxVar negative = node.Function(F::kLess, {bound, node.Integer(0)});
  const OnnxVar from_start = node.Sum(bound, node.Product(size, negative));
  return node.Function(F::kMax,
                       {node.Integer(low),
                        node.Function(F::kMin, {from_start, node.Sum(size, node.Integer(high))})});
}

// Takes the places from `start` to `end` along an axis by index.
OnnxVar Gathered(OnnxNode& node, OnnxVar x, int axis, OnnxVar start, OnnxVar end, int64_t step,
                 int64_t at_most) {
  if (!node.ok()) return kNoOnnxVar;
  const int64_t full = node.shape(x)[axis];
  if (full == 0) return node.Unsupported("of nothing, by bounds that depend on data");
  const OnnxVar size = CountAlong(node, x, axis);
  const bool back = step < 0;
  const OnnxVar from = back ? Clamped(node, start, size, 0, -1) : Clamped(node, start, size, 0, 0);
  const OnnxVar to = back ? Clamped(node, end, size, -1, -1) : Clamped(node, end, size, 0, 0);
  const int64_t distance = back ? -step : step;
  const OnnxVar length = back ? node.Difference(from, to) : node.Difference(to, from);
  // An empty tensor has no last place to go back from.
  const OnnxVar existing =
      node.Function(F::kMin, {node.Function(F::kMax, {length, node.Integer(0)}), size});
  const OnnxVar count = node.Function(
      F::kTruncDiv, {node.Sum(existing, node.Integer(distance - 1)), node.Integer(distance)});
  const int64_t most = std::min(at_most, (full - 1) / distance + 1);
  std::optional<HostTensor> steps = node.NewTensor(DType::kInt64, {most});
  if (!steps) return kNoOnnxVar;
  for (int64_t i = 0; i < most; ++i) steps->SetInteger(i, i * step);
  const OnnxVar places = node.Sum(node.Constant(*std::move(steps)), from);
  const OnnxVar within = node.Function(
      F::kMax, {node.Integer(0), node.Function(F::kMin, {places, node.Integer(full - 1)})});
  const OnnxVar taken = node.Add<Gather>({axis}, {x, within});
  return node.ok() ? node.Counted(taken, {count, axis}) : kNoOnnxVar;
}

}  // namespace

OnnxVars CountedSlice(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  const Bounds starts = BoundsIn(node, 1, "starts"), ends = BoundsIn(node, 2, "ends");
  const bool by_attributes = node.version() < 10;
  std::vector<int64_t> axes, steps;
  if (by_attributes) axes = node.Ints("axes");
  if (!by_attributes && node.has(3)) axes = node.KnownInts(3, "axes");
  if (!by_attributes && node.has(4)) steps = node.KnownInts(4, "steps");
  if (!node.ok()) return kNoOnnxVar;
  const OnnxCount* const found = node.count(x);
  const size_t cuts = starts.most.size();
  for (size_t i = axes.size(); i < cuts; ++i) axes.push_back(static_cast<int64_t>(i));
  steps.resize(cuts, 1);
  if (ends.most.size() != cuts || axes.size() != cuts) return run(node);  // reports it
  std::optional<size_t> by_data;  // the cut whose size depends on data
  int axis = 0;
  for (size_t i = 0; i < cuts; ++i) {
    const int along = node.Axis(axes[i], node.rank(x));
    const bool counted = found != nullptr && along == found->axis;
    if (!node.ok()) return kNoOnnxVar;
    if (!counted && !starts.IsOpen(i) && !ends.IsOpen(i)) continue;
    if (by_data || (found != nullptr && !counted)) {
      return node.Unsupported("along two axes, of sizes that depend on data");
    }
    if (steps[i] == 0 || steps[i] == std::numeric_limits<int64_t>::min()) return run(node);
    by_data = i;
    axis = along;
  }
  if (!by_data) {
    const OnnxVars outputs = run(node);
    if (!node.ok() || found == nullptr) return node.ok() ? outputs : OnnxVars(kNoOnnxVar);
    return node.Counted(outputs[0], *found);
  }
  const size_t i = *by_data;
  const int64_t full = node.shape(x)[axis];
  const OnnxVar size = CountAlong(node, x, axis);
  const OnnxVar start = starts.At(node, i), end = ends.At(node, i);
  std::vector<int64_t> whole_starts = starts.most, whole_ends = ends.most;
  // The valid places are the first ones of the whole cut, if it begins at a known place.
  const bool first_ones = !starts.IsOpen(i) && starts.most[i] >= 0 && steps[i] == 1 &&
                          (!ends.IsOpen(i) || ends.least[i] >= 0);
  if (first_ones) {
    // The most that a negative end leaves, of the most that there may be.
    if (whole_ends[i] < 0) whole_ends[i] = std::max<int64_t>(full + whole_ends[i], 0);
  } else {
    whole_starts[i] = 0;
    whole_ends[i] = full;
  }
  std::vector<int64_t> whole_steps = steps;
  whole_steps[i] = 1;
  if (!by_attributes) {
    node.SetInput(1, node.IntVector(whole_starts));
    node.SetInput(2, node.IntVector(whole_ends));
    if (node.has(4)) node.SetInput(4, node.IntVector(whole_steps));
  } else if (!first_ones) {
    return node.Unsupported("from the end, of a size that depends on data, below operator set 10");
  }
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  if (first_ones) {
    const OnnxVar length = node.Difference(Clamped(node, end, size, 0, 0), start);
    return node.Counted(outputs[0], {node.Function(F::kMax, {length, node.Integer(0)}), axis});
  }
  const OnnxVar cut = found != nullptr ? node.Counted(outputs[0], *found) : outputs[0];
  int64_t at_most = full;
  if (!starts.IsOpen(i) && steps[i] > 0) {
    const int64_t from = starts.most[i];
    at_most = from >= 0 ? std::max<int64_t>(full - from, 0) : from < -full ? full : -from;
  }
  return Gathered(node, cut, axis, start, end, steps[i], at_most);
}

}  // namespace ashlar

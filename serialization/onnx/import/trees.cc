// Imports TreeEnsemble (ai.onnx.ml): all trees are walked at once, one level at a time, by lookups
// in tables of the nodes. A leaf leads to itself, and each pair of a sample and a tree ends at one.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "opr/gather.h"
#include "opr/reduce.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

enum Mode { kLessOrEqual, kLess, kGreaterOrEqual, kGreater, kEqual, kNotEqual, kMember };
enum Aggregate { kAverage, kSum, kMin, kMax };
constexpr size_t kDeepest = 1000;

// Leaves come first. The next place is by how the feature compares to the split: NaN, less, equal,
// greater.
struct Place {
  int64_t feature = 0;
  double split = 0;
  std::array<int64_t, 4> next = {};
};

std::array<int64_t, 4> Next(int mode, bool nan_is_true, int64_t yes, int64_t no) {
  const bool less = mode == kLessOrEqual || mode == kLess || mode == kNotEqual;
  const bool equal = mode == kLessOrEqual || mode == kGreaterOrEqual || mode == kEqual;
  const bool greater = mode == kGreater || mode == kGreaterOrEqual || mode == kNotEqual;
  nan_is_true = nan_is_true || mode == kNotEqual;
  return {nan_is_true ? yes : no, less ? yes : no, equal ? yes : no, greater ? yes : no};
}

// Returns the number of steps from the roots until all are at leaves; kDeepest if more.
size_t StepsOf(const std::vector<Place>& places, std::vector<int64_t> at, int64_t leaves) {
  for (size_t steps = 0; steps < kDeepest; ++steps) {
    std::vector<bool> reached(places.size(), false);
    std::vector<int64_t> next;
    for (const int64_t place : at) {
      for (const int64_t to : places[static_cast<size_t>(place)].next) {
        if (to < leaves || reached[static_cast<size_t>(to)]) continue;
        reached[static_cast<size_t>(to)] = true;
        next.push_back(to);
      }
    }
    if (next.empty()) return steps + 1;
    at = std::move(next);
  }
  return kDeepest;
}

// Reads the nodes' attributes beside the feature of each node; none after an error.
std::vector<Place> PlacesOf(OnnxNode& node, const std::vector<int64_t>& feature, int64_t leaves,
                            int64_t features, DType dtype) {
  const HostTensor none = HostTensor::Zeros(dtype, {0});
  const HostTensor modes = node.Tensor("nodes_modes").value_or(none);
  const HostTensor splits = node.Tensor("nodes_splits").value_or(none);
  const HostTensor members = node.Tensor("membership_values").value_or(none);
  if (modes.num_elements() > 0 && !IsInteger(modes.dtype())) {
    node.Invalid(absl::StrCat("nodes_modes is ", Name(modes.dtype()), ", expected integers"));
  }
  const std::vector<int64_t> ids[] = {node.Ints("nodes_falsenodeids"),
                                      node.Ints("nodes_truenodeids")};
  const std::vector<int64_t> leafs[] = {node.Ints("nodes_falseleafs"),
                                        node.Ints("nodes_trueleafs")};
  std::vector<int64_t> nan_is_true = node.Ints("nodes_missing_value_tracks_true");
  const size_t count = feature.size();
  if (nan_is_true.empty()) nan_is_true.assign(count, 0);
  const auto size = static_cast<int64_t>(count);
  bool fits = modes.num_elements() == size && splits.num_elements() == size &&
              splits.dtype() == dtype && members.dtype() == dtype && nan_is_true.size() == count;
  for (int side : {0, 1}) fits = fits && ids[side].size() == count && leafs[side].size() == count;
  if (!node.ok()) return {};
  std::vector<Place> places(static_cast<size_t>(leaves + size));
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    places[static_cast<size_t>(leaf)].next.fill(leaf);
  }
  int64_t member = 0;
  for (size_t i = 0; fits && i < count; ++i) {
    int64_t to[2];
    for (int side : {0, 1}) {
      const bool leaf = leafs[side][i] != 0;
      fits = fits && ids[side][i] >= 0 && ids[side][i] < (leaf ? leaves : size);
      to[side] = ids[side][i] + (leaf ? 0 : leaves);
    }
    const int64_t given = modes.IntegerAt(static_cast<int64_t>(i));
    fits = fits && feature[i] >= 0 && feature[i] < features && given >= 0 && given <= kMember;
    if (!fits) break;
    const auto mode = static_cast<int>(given);
    std::vector<double> of = {splits.At(static_cast<int64_t>(i))};
    if (mode == kMember) {
      of.clear();
      for (; member < members.num_elements() && !std::isnan(members.At(member)); ++member) {
        of.push_back(members.At(member));
      }
      fits = member++ < members.num_elements();
    }
    const bool nan = nan_is_true[i] != 0;
    size_t at = static_cast<size_t>(leaves) + i;
    places[at].next = {nan ? to[1] : to[0], to[0], to[0], to[0]};
    // A place for each member of a set; the false side of each leads to the next one.
    for (size_t k = 0; k < of.size(); ++k) {
      const bool last = k + 1 == of.size();
      const int64_t no = last ? to[0] : static_cast<int64_t>(places.size());
      places[at] = {feature[i], of[k], Next(mode == kMember ? kEqual : mode, nan, to[1], no)};
      if (last) break;
      at = places.size();
      places.emplace_back();
    }
  }
  if (!fits) node.Invalid("the attributes of the nodes do not describe trees");
  return node.ok() ? places : std::vector<Place>();
}

OnnxVars TreeEnsemble(OnnxNode& node) {
  node.Ignore({"nodes_hitrates"});
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  const DType dtype = node.dtype(x);
  const Shape shape = node.shape(x);
  const std::optional<HostTensor> weights = node.Tensor("leaf_weights");
  const std::vector<int64_t> feature_ids = node.Ints("nodes_featureids");
  const std::vector<int64_t> targets_of = node.Ints("leaf_targetids");
  const std::vector<int64_t> roots = node.Ints("tree_roots");
  const int64_t targets = node.Int("n_targets", 1),
                aggregate = node.Int("aggregate_function", kSum);
  if (node.Int("post_transform", 0) != 0) return node.Unsupported("post_transform");
  const auto leaves = static_cast<int64_t>(targets_of.size());
  const auto trees = static_cast<int64_t>(roots.size());
  if (!node.ok()) return kNoOnnxVar;
  if (shape.rank() != 2 || !IsFloat(dtype) || !weights || weights->num_elements() != leaves ||
      trees == 0 || targets < 1 || aggregate < kAverage || aggregate > kMax) {
    return node.Invalid("the attributes of the leaves, or the input, do not fit");
  }
  const std::vector<Place> places = PlacesOf(node, feature_ids, leaves, shape[1], dtype);
  if (!node.ok()) return kNoOnnxVar;
  const auto count = static_cast<int64_t>(places.size());
  std::vector<int64_t> start, features, next;
  std::optional<HostTensor> splits = node.NewTensor(dtype, {count});
  std::optional<HostTensor> votes = node.NewTensor(dtype, {leaves, targets});
  if (!splits || !votes) return kNoOnnxVar;
  for (int64_t i = 0; i < count; ++i) {
    const Place& place = places[static_cast<size_t>(i)];
    splits->Set(i, place.split);
    features.push_back(place.feature);
    next.insert(next.end(), place.next.begin(), place.next.end());
  }
  // The result of a target that no tree votes for.
  const double most = dtype == DType::kFloat64 ? std::numeric_limits<double>::max()
                                               : std::numeric_limits<float>::max();
  const double neutral = aggregate == kMin ? most : aggregate == kMax ? -most : 0;
  for (int64_t i = 0; i < votes->num_elements(); ++i) {
    const int64_t leaf = i / targets;
    const int64_t target = targets_of[static_cast<size_t>(leaf)];
    if (target < 0 || target >= targets) return node.Invalid("a leaf's target is out of range");
    votes->Set(i, target == i % targets ? weights->At(leaf) : neutral);
  }
  const auto nodes = static_cast<int64_t>(feature_ids.size());
  for (const int64_t root : roots) {
    if (root < 0 || root >= nodes) {
      return node.Invalid(absl::StrCat("root ", root, " of ", nodes, " nodes"));
    }
    start.push_back(root + leaves);
  }
  const size_t steps = StepsOf(places, start, leaves);
  if (steps >= kDeepest) return node.Unsupported("of trees deeper than 1000, or that do not end");
  const OnnxVar split_of = node.Constant(*std::move(splits)), feature_of = node.IntVector(features);
  const OnnxVar next_of = node.IntVector(next);
  OnnxVar at = node.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1, trees}, start));
  for (size_t step = 0; step < steps && node.ok(); ++step) {
    const OnnxVar feature = node.Add<Gather>({0}, {feature_of, at});
    const OnnxVar split = node.Add<Gather>({0}, {split_of, at});
    const OnnxVar value = step == 0 ? node.Add<Gather>({1}, {x, node.Reshaped(feature, {trees})})
                                    : node.Add<GatherElements>({1}, {x, feature});
    const OnnxVar less = node.Function(F::kLess, {value, split});
    const OnnxVar equal = node.Product(node.Function(F::kEqual, {value, split}), 2);
    const OnnxVar greater = node.Product(node.Function(F::kLess, {split, value}), 3);
    const OnnxVar side = node.Converted(node.Sum(less, node.Sum(equal, greater)), DType::kInt64);
    const OnnxVar four = node.Integer(4);
    at = node.Add<Gather>({0}, {next_of, node.Sum(node.Product(at, four), side)});
  }
  OnnxVar y = node.Add<Gather>({0}, {node.Constant(*std::move(votes)), at});
  const ReduceMode mode = aggregate == kMin   ? ReduceMode::kMin
                          : aggregate == kMax ? ReduceMode::kMax
                                              : ReduceMode::kSum;
  y = node.Reshaped(node.Add<Reduce>({mode, 1}, {y}), {shape[0], targets});
  return aggregate == kAverage ? node.Product(y, 1.0 / static_cast<double>(trees)) : y;
}

constexpr OnnxRow kTreeRows[] = {
    OnnxRow("TreeEnsemble", 1, 1, TreeEnsemble)
        .Since(5)
        .In("ai.onnx.ml")
        .Limits("without a function after it"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxTreeRows() { return kTreeRows; }

}  // namespace ashlar

// Imports Unique: sorts, finds where neighbours differ, and takes these places. Their number
// depends on data.
//
// Slices along an axis are sorted by their elements from the last to the first, each time keeping
// the order of equal ones (LSD radix sort).
#include "opr/cum_sum.h"
#include "opr/gather.h"
#include "opr/reduce.h"
#include "opr/scatter.h"
#include "opr/top_k.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

constexpr int64_t kLongestSlice = 256;  // elements; each becomes a sort

OnnxVar Taken(OnnxNode& node, OnnxVar x, OnnxVar indices) {
  return node.Add<Gather>({0}, {x, indices});
}

// Returns 0, 1, ..., n - 1.
OnnxVar Places(OnnxNode& node, int64_t n) {
  std::optional<HostTensor> places = node.NewTensor(DType::kInt64, {n});
  for (int64_t i = 0; places && i < n; ++i) places->SetInteger(i, i);
  return places ? node.Constant(*std::move(places)) : kNoOnnxVar;
}

// Returns a vector with the values at these places, each of which occurs once.
OnnxVar Scattered(OnnxNode& node, OnnxVar places, OnnxVar values) {
  std::optional<HostTensor> zeros = node.NewTensor(DType::kInt64, node.shape(places).dims());
  if (!zeros) return kNoOnnxVar;
  return node.Add<ScatterElements>({0}, {node.Constant(*std::move(zeros)), places, values});
}

// Returns where flags are set, in one row.
OnnxVar FlatPlaces(OnnxNode& node, OnnxVar flags, int64_t at_most) {
  const OnnxVar places = PlacesOf(node, flags, at_most);
  return node.ok() ? node.Reshaped(places, {node.shape(places)[1]}) : kNoOnnxVar;
}

// Returns the order that sorts a vector; equal elements keep theirs.
OnnxVar OrderOf(OnnxNode& node, OnnxVar vector) {
  const TopKParam all = {0, node.shape(vector)[0], false};
  const OnnxVars sorted = node.AddOperator(std::make_shared<const TopK>(all), {vector});
  return node.ok() ? sorted[1] : kNoOnnxVar;
}

// Returns 1 for each row that differs from the row before it, and for the first.
OnnxVar NewOnes(OnnxNode& node, OnnxVar rows) {
  const int64_t n = node.shape(rows)[0], width = node.shape(rows)[1];
  const OnnxVar before = node.Padded(node.Padded(rows, 0, 0, -1), 0, 1, 0);
  const OnnxVar equal = node.Converted(node.Function(F::kEqual, {rows, before}), DType::kInt64);
  const OnnxVar all = node.Reshaped(
      width == 1 ? equal : node.Add<Reduce>({ReduceMode::kMin}, {equal, node.IntVector({n, 1})}),
      {n});
  std::optional<HostTensor> later = node.NewTensor(DType::kInt64, {n});
  if (!later) return kNoOnnxVar;
  for (int64_t i = 1; i < n; ++i) later->SetInteger(i, 1);
  return node.Difference(node.Integer(1), node.Product(all, node.Constant(*std::move(later))));
}

OnnxVars Unique(OnnxNode& node) {
  const OnnxVar given = node.input(0);
  const bool sorted = node.Int("sorted", 1) != 0, along = node.has_attribute("axis");
  const int axis = along ? node.Axis(node.Int("axis", 0), node.rank(given)) : 0;
  if (!node.ok()) return kNoOnnxVar;
  const OnnxCount* const count = node.count(given);
  if (count != nullptr && (node.rank(given) != 1 || count->axis != 0)) {
    return node.Unsupported("of several dimensions whose size depends on data");
  }
  // Slices along axis 0, as rows of a matrix.
  std::vector<int64_t> pattern = {axis};
  Shape slices = {along ? node.shape(given)[axis] : node.shape(given).num_elements()};
  for (int i = 0; along && i < node.rank(given); ++i) {
    if (i == axis) continue;
    pattern.push_back(i);
    slices.push_back(node.shape(given)[i]);
  }
  const int64_t n = slices[0];
  if (n == 0 || slices.num_elements() == 0) return node.Unsupported("of nothing");
  const int64_t width = slices.num_elements() / n;
  if (width > kLongestSlice) {
    return node.Unsupported(
        absl::StrCat("of slices of ", width, " elements, expected at most ", kLongestSlice));
  }
  // Fill comes last.
  const double last = IsFloat(node.dtype(given)) ? std::nan("") : kInfinity;
  const OnnxVar x = Filled(node, given, last);
  const OnnxVar whole = along ? node.Permuted(x, pattern) : node.Reshaped(x, {n});
  const OnnxVar rows = node.Reshaped(whole, {n, width});
  OnnxVar order = kNoOnnxVar;
  for (int64_t i = width; i-- > 0 && node.ok();) {
    OnnxVar column =
        node.Reshaped(width == 1 ? rows : node.Add<Gather>({1}, {rows, node.IntVector({i})}), {n});
    if (order != kNoOnnxVar) column = Taken(node, column, order);
    const OnnxVar next = OrderOf(node, column);
    order = order == kNoOnnxVar ? next : Taken(node, order, next);
  }
  if (!node.ok()) return kNoOnnxVar;
  OnnxVar is_new = NewOnes(node, Taken(node, rows, order));
  OnnxVar valid = node.Integer(n);  // elements that are no fill
  if (count != nullptr) {
    valid = count->count;
    is_new = Filled(node, node.Counted(is_new, {valid, 0}), 0);
  }
  const OnnxVar group = node.Sum(node.Add<CumSum>({0}, {is_new}), -1);  // of each sorted element
  OnnxVar first = is_new, from = order, group_of = Scattered(node, order, group);
  if (!sorted) {
    // By the first element of each group, in the order of the input.
    first = Scattered(node, order, is_new);
    from = Places(node, n);
  }
  const OnnxVar found = PlacesOf(node, first, node.Bound(n));
  if (!node.ok()) return kNoOnnxVar;
  const int64_t most = node.shape(found)[1];
  if (most == 0) return node.Unsupported("a bound of 0");
  const OnnxCount number = {CountAlong(node, found, 1), 0};
  const OnnxVar row = node.Counted(node.Reshaped(found, {most}), number);
  const OnnxVar places = Within(node, row, node.Integer(n));  // 0 in place of fill
  const OnnxVar indices = Taken(node, from, places);
  std::vector<int64_t> back(pattern.size());
  for (size_t i = 0; i < pattern.size(); ++i) {
    back[static_cast<size_t>(pattern[i])] = static_cast<int64_t>(i);
  }
  const OnnxVar values = Taken(node, whole, indices);
  OnnxVars outputs = {along ? node.Permuted(values, back) : values, indices, kNoOnnxVar,
                      kNoOnnxVar};
  if (node.has_output(2) || node.has_output(3)) {
    if (!sorted) {
      // The sorted group of each place, then its number by first elements.
      const OnnxVar numbers = node.Sum(node.Add<CumSum>({0}, {first}), -1);
      const OnnxVar begins = node.Greatest(FlatPlaces(node, is_new, n), 0);  // of sorted groups
      group_of = Taken(node, numbers, Taken(node, Taken(node, order, begins), group_of));
    }
    outputs[2] = count != nullptr ? node.Counted(group_of, {valid, 0}) : group_of;
    // Adds one for each element that is no fill.
    std::optional<HostTensor> ones = node.NewTensor(DType::kInt64, {n});
    std::optional<HostTensor> zeros = node.NewTensor(DType::kInt64, {most});
    if (!ones || !zeros) return kNoOnnxVar;
    for (int64_t i = 0; i < n; ++i) ones->SetInteger(i, 1);
    OnnxVar each = node.Constant(*std::move(ones));
    if (count != nullptr) each = Filled(node, node.Counted(each, {valid, 0}), 0);
    const OnnxVar within = node.Least(node.Greatest(group_of, 0), static_cast<double>(most - 1));
    outputs[3] =
        node.Counted(node.Add<ScatterElements>({0, ScatterReduction::kAdd},
                                               {node.Constant(*std::move(zeros)), within, each}),
                     number);
  }
  outputs[0] = node.Counted(outputs[0], {number.count, axis});
  outputs[1] = node.Counted(outputs[1], number);
  return node.ok() ? outputs : OnnxVars(kNoOnnxVar);
}

constexpr OnnxRow kUniqueRows[] = {
    OnnxRow("Unique", 1, 1, Unique)
        .Counted(CountedByItself)
        .Limits("with a count; slices along an axis of up to 256 elements"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxUniqueRows() { return kUniqueRows; }

}  // namespace ashlar

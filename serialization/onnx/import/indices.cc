// Imports operators that select elements by index.
#include <algorithm>
#include <cmath>

#include "opr/gather.h"
#include "opr/non_max_suppression.h"
#include "opr/scatter.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

// Returns an index into a dimension; negative ones count from the end. Reports an error if it is
// out of range.
int64_t Place(OnnxNode& node, const HostTensor& indices, int64_t i, int64_t size) {
  const int64_t index = indices.IntegerAt(i);
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  node.Invalid(absl::StrCat("index ", index, " is out of range for size ", size));
  return 0;
}

bool CheckIndices(OnnxNode& node, const HostTensor& indices) {
  if (!node.ok()) return false;
  if (indices.dtype() == DType::kInt64 || indices.dtype() == DType::kInt32) return true;
  node.Invalid(absl::StrCat("indices are ", Name(indices.dtype()), ", expected Int32 or Int64"));
  return false;
}

// If constant indices have one step, they form a box, which may be a view.
std::optional<OnnxVar> BoxOf(OnnxNode& node, OnnxVar data, const HostTensor& indices, int axis) {
  const int64_t count = indices.num_elements(), size = node.shape(data)[axis];
  if (indices.shape().rank() > 1 || count == 0) return std::nullopt;
  const int64_t first = Place(node, indices, 0, size);
  if (indices.shape().rank() == 0) {
    return node.Add<Subtensor>({{axis}, {0}, {0}, {0}, {1}}, {data, node.IntVector({first})});
  }
  const int64_t step = count > 1 ? Place(node, indices, 1, size) - first : 1;
  for (int64_t i = 1; i < count; ++i) {
    if (step == 0 || Place(node, indices, i, size) != first + i * step) return std::nullopt;
  }
  // An end before the first element: -1 would mean the last.
  const int64_t end = first + count * step;
  return node.Add<Subtensor>({{axis}, {1}, {1}, {1}, {0}},
                             {data, node.IntVector({first}),
                              node.IntVector({end < 0 ? -size - 1 : end}), node.IntVector({step})});
}

OnnxVars GatherOf(OnnxNode& node) {
  const OnnxVar data = node.input(0), indices = node.input(1);
  const int axis = node.Axis(node.Int("axis", 0), node.rank(data));
  if (!node.ok()) return kNoOnnxVar;
  const HostTensor* known = node.constant(indices);
  if (known != nullptr && node.constant(data) == nullptr && CheckIndices(node, *known)) {
    if (const std::optional<OnnxVar> box = BoxOf(node, data, *known, axis)) return *box;
  }
  return node.Add<Gather>({axis}, {data, indices});
}

OnnxVars GatherElementsOf(OnnxNode& node) {
  return node.Add<GatherElements>({node.Int("axis", 0)}, {node.input(0), node.input(1)});
}

OnnxVars GatherNDOf(OnnxNode& node) {
  return node.Add<GatherND>({node.Int("batch_dims", 0)}, {node.input(0), node.input(1)});
}

ScatterReduction ReductionOf(OnnxNode& node) {
  using R = ScatterReduction;
  return OnnxNamed<R>(
      node, "reduction", "none",
      {{"none", R::kNone}, {"add", R::kAdd}, {"mul", R::kMul}, {"max", R::kMax}, {"min", R::kMin}});
}

OnnxVars ScatterElementsOf(OnnxNode& node) {
  const ScatterElementsParam param = {node.Int("axis", 0), ReductionOf(node)};
  return node.Add<ScatterElements>(param, {node.input(0), node.input(1), node.input(2)});
}

OnnxVars ScatterNDOf(OnnxNode& node) {
  const ScatterNDParam param = {ReductionOf(node)};
  return node.Add<ScatterND>(param, {node.input(0), node.input(1), node.input(2)});
}

// Calls `each` for each place of `shape`, with its index along every axis.
template <typename Each>
void ForEachPlace(const Shape& shape, const Each& each) {
  std::vector<int64_t> index(shape.rank(), 0);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    each(i, index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

OnnxVars NonZero(OnnxNode& node) {
  const HostTensor& x = node.Known(0, "the input");
  if (!node.ok()) return kNoOnnxVar;
  std::vector<std::vector<int64_t>> found;
  ForEachPlace(x.shape(), [&](int64_t i, const std::vector<int64_t>& index) {
    if (x.At(i) != 0) found.push_back(index);
  });
  const int64_t count = static_cast<int64_t>(found.size());
  std::optional<HostTensor> result = node.NewTensor(DType::kInt64, {x.shape().rank(), count});
  if (!result) return kNoOnnxVar;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    for (int64_t i = 0; i < count; ++i) result->SetInteger(axis * count + i, found[i][axis]);
  }
  return node.Constant(*std::move(result));
}

// Planned for all elements of the input, or for --bound.
OnnxVars NonZeroAtMost(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(x) == 0) return node.Unsupported("of a scalar");
  return PlacesOf(node, Filled(node, x, 0), node.Bound(node.shape(x).num_elements()));
}

OnnxVars NonMaxSuppressionOf(OnnxNode& node) {
  OnnxVar boxes = node.input(0), scores = node.input(1);
  NonMaxSuppressionParam param;
  param.centers = node.Int("center_point_box", 0) != 0;
  constexpr char kMost[] = "max_output_boxes_per_class";
  if (node.has(2) && node.Known(2, kMost).num_elements() != 0) {
    constexpr int64_t kNoLimit = int64_t{1} << 40;
    param.most_per_class = std::clamp<int64_t>(node.KnownInteger(2, kMost), 0, kNoLimit);
  }
  if (node.has(3)) param.overlap = node.KnownNumber(3, "iou_threshold");
  param.as_any = !node.has(4);
  if (node.has(4)) param.threshold = node.KnownNumber(4, "score_threshold");
  RefuseCounts(node, 2);
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(boxes) != 3 || node.rank(scores) != 3) {
    return node.Invalid("expected boxes and scores of rank 3");
  }
  const OnnxCount* const of_boxes = node.count(boxes);
  const OnnxCount* const of_scores = node.count(scores);
  if ((of_boxes != nullptr && of_boxes->axis != 1) ||
      (of_scores != nullptr && of_scores->axis != 2)) {
    return node.Unsupported("the number of images or classes depends on data");
  }
  const int64_t size = std::min(node.shape(boxes)[1], node.shape(scores)[2]);
  std::vector<OnnxVar> inputs = {FirstPlaces(node, boxes, 1, size),
                                 FirstPlaces(node, scores, 2, size)};
  if (of_boxes != nullptr || of_scores != nullptr) {
    inputs.push_back(Checked(node, CountAlong(node, boxes, 1), CountAlong(node, scores, 2),
                             "the number of boxes"));
  } else if (node.shape(boxes)[1] != node.shape(scores)[2]) {
    return node.Invalid("boxes and scores differ in number");
  }
  if (!node.ok()) return kNoOnnxVar;
  const Shape& shape = node.shape(scores);
  int64_t all = 0;
  if (__builtin_mul_overflow(shape[0] * shape[1], std::min(param.most_per_class, size), &all)) {
    return node.Invalid("too many boxes");
  }
  param.at_most = node.Bound(all);
  const OnnxVars taken =
      node.AddOperator(std::make_shared<const NonMaxSuppression>(param), std::move(inputs));
  return node.ok() ? OnnxVars(node.Counted(taken[0], {taken[1], 0})) : OnnxVars(kNoOnnxVar);
}

OnnxVars OneHot(OnnxNode& node) {
  const HostTensor& indices = node.Known(0, "the indices");
  const double depth = node.KnownNumber(1, "depth");
  const HostTensor& values = node.Known(2, "the values");
  if (!node.ok()) return kNoOnnxVar;
  if (!(depth >= 1 && depth < 1e12) || values.num_elements() != 2) {
    return node.Invalid("expected a depth of at least 1, and two values");
  }
  const int axis = node.Axis(node.Int("axis", -1), indices.shape().rank() + 1);
  const int64_t size = static_cast<int64_t>(depth);
  std::vector<int64_t> dims(indices.shape().dims().begin(), indices.shape().dims().end());
  dims.insert(dims.begin() + axis, size);
  std::optional<HostTensor> result = node.NewTensor(values.dtype(), dims);
  if (!result || !node.ok()) return kNoOnnxVar;
  const int64_t inner = ElementsBetween(result->shape(), axis + 1, result->shape().rank());
  for (int64_t i = 0; i < result->num_elements(); ++i) {
    const int64_t at = i / inner / size * inner + i % inner;
    double index = std::trunc(indices.At(at));  // "the values will be casted to int64 before use"
    if (index < 0) index += static_cast<double>(size);
    CopyElement(values, index == static_cast<double>(i / inner % size) ? 1 : 0, *result, i);
  }
  return node.Constant(*std::move(result));
}

OnnxVars Trilu(OnnxNode& node) {
  const HostTensor& x = node.Known(0, "the input");
  const int64_t diagonal = node.has(1) ? node.KnownInteger(1, "k") : 0;
  const bool upper = node.Int("upper", 1) != 0;
  if (!node.ok()) return kNoOnnxVar;
  const int rank = x.shape().rank();
  if (rank < 2) return node.Invalid("expected matrices");
  std::optional<HostTensor> result = node.NewTensor(x.dtype(), x.shape().dims());
  if (!result) return kNoOnnxVar;
  const int64_t columns = x.shape()[rank - 1], rows = x.shape()[rank - 2];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    if (upper ? column - row >= diagonal : column - row <= diagonal) CopyElement(x, i, *result, i);
  }
  return node.Constant(*std::move(result));
}

// Uses a mask, if the diagonal is known.
OnnxVars TriluByMask(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const int64_t diagonal = node.has(1) ? node.KnownInteger(1, "k") : 0;
  const bool upper = node.Int("upper", 1) != 0;
  const int rank = node.rank(x);
  if (rank < 2) return node.Invalid("expected matrices");
  const int64_t rows = node.shape(x)[rank - 2], columns = node.shape(x)[rank - 1];
  std::optional<HostTensor> mask = node.NewTensor(node.dtype(x), {rows, columns});
  if (!mask || !node.ok()) return kNoOnnxVar;
  for (int64_t i = 0; i < mask->num_elements(); ++i) {
    const int64_t distance = i % columns - i / columns;
    mask->Set(i, upper ? distance >= diagonal : distance <= diagonal);
  }
  return node.Function(ScalarFunction::kSelect,
                       {node.Constant(*std::move(mask)), x, node.Scalar(0, node.dtype(x))});
}

// Compares the indices with all possible values.
OnnxVars OneHotByComparison(OnnxNode& node) {
  OnnxVar indices = node.input(0);
  const OnnxVar values = node.input(2);
  const double depth = std::trunc(node.KnownNumber(1, "depth"));
  // "the values will be casted to int64 before use"
  if (IsFloat(node.dtype(indices))) indices = node.Converted(indices, DType::kInt64);
  if (!node.ok()) return kNoOnnxVar;
  if (!(depth >= 1 && depth < 1e12) || node.shape(values) != Shape{2}) {
    return node.Invalid("expected a depth of at least 1, and two values");
  }
  const int rank = node.rank(indices) + 1;
  const int axis = node.Axis(node.Int("axis", -1), rank);
  std::vector<int64_t> along(rank, 1),
      apart(node.shape(indices).dims().begin(), node.shape(indices).dims().end());
  if (!node.ok()) return kNoOnnxVar;
  along[axis] = static_cast<int64_t>(depth);
  apart.insert(apart.begin() + axis, 1);
  const absl::StatusOr<Shape> shape = Shape::Make(apart);
  if (!shape.ok()) return node.Fail(shape.status());
  const DType dtype = node.dtype(indices);
  std::optional<HostTensor> places = node.NewTensor(dtype, along);
  if (!places) return kNoOnnxVar;
  for (int64_t i = 0; i < places->num_elements(); ++i) {
    places->Set(i, static_cast<double>(i));
  }
  // Negative indices count from the end.
  const OnnxVar negative = node.Function(ScalarFunction::kLess, {indices, node.Scalar(0, dtype)});
  indices = node.Function(ScalarFunction::kSelect, {negative, node.Sum(indices, depth), indices});
  const OnnxVar hit = node.Function(
      ScalarFunction::kEqual, {node.Reshaped(indices, *shape), node.Constant(*std::move(places))});
  const auto value = [&](int64_t i) {
    return node.Add<Subtensor>({{0}, {0}, {0}, {0}, {1}}, {values, node.IntVector({i})});
  };
  return node.Function(ScalarFunction::kSelect,
                       {node.Converted(hit, node.dtype(values)), value(1), value(0)});
}

// Writes the update into the cache, at a place of its own for each image.
OnnxVars TensorScatter(OnnxNode& node) {
  const OnnxVar cache = node.input(0), update = node.input(1);
  const std::string mode = node.Text("mode", "linear");
  if (!node.ok()) return kNoOnnxVar;
  const Shape whole = node.shape(cache), part = node.shape(update);
  const int axis = node.Axis(node.Int("axis", -2), whole.rank());
  if (!node.ok()) return kNoOnnxVar;
  if (axis == 0 || part.rank() != whole.rank()) {
    return node.Invalid(absl::StrCat("the cache is ", whole.ToString(), ", the update ",
                                     part.ToString(), ", the axis ", axis));
  }
  if (mode != "linear" && mode != "circular") {
    return node.Invalid(absl::StrCat("mode is '", mode, "'"));
  }
  Shape by_image, along;
  for (int i = 0; i < whole.rank(); ++i) {
    by_image.push_back(i == 0 ? whole[0] : 1);
    along.push_back(i == axis ? part[axis] : 1);
  }
  std::optional<HostTensor> places = node.NewTensor(DType::kInt64, along.dims());
  if (!places) return kNoOnnxVar;
  for (int64_t i = 0; i < places->num_elements(); ++i) places->Set(i, static_cast<double>(i));
  OnnxVar indices = node.Constant(*std::move(places));
  if (node.has(2)) {
    if (node.shape(node.input(2)) != Shape{whole[0]}) {
      return node.Invalid(absl::StrCat("write_indices are ", node.shape(node.input(2)).ToString(),
                                       ", expected one for each of ", whole[0], " images"));
    }
    const OnnxVar first = node.Converted(node.Reshaped(node.input(2), by_image), DType::kInt64);
    indices = node.Sum(first, indices);
  }
  if (mode == "circular") {
    indices = node.Function(ScalarFunction::kMod, {indices, node.Integer(whole[axis])});
  }
  return node.Add<ScatterElements>({axis}, {cache, node.BroadcastTo(indices, part), update});
}

constexpr OnnxRow kIndexRows[] = {
    OnnxRow("Gather", 2, 2, GatherOf).Counted(CountedGather).Rising(),
    OnnxRow("GatherElements", 2, 2, GatherElementsOf).Counted(CountedGatherElements),
    OnnxRow("GatherND", 2, 2, GatherNDOf).Counted(CountedGatherND),
    OnnxRow("NonMaxSuppression", 2, 5, NonMaxSuppressionOf)
        .Counted(CountedByItself)
        .Limits("with a count; thresholds known before the run"),
    OnnxRow("NonZero", 1, 1, NonZeroAtMost)
        .Folded(NonZero)
        .Counted(CountedByItself)
        .Limits("with a count"),
    OnnxRow("OneHot", 3, 3, OneHotByComparison).Folded(OneHot),
    OnnxRow("Scatter", 3, 3, ScatterElementsOf).Versions(9, 10),
    OnnxRow("ScatterElements", 3, 3, ScatterElementsOf).Counted(CountedScatterElements),
    OnnxRow("ScatterND", 3, 3, ScatterNDOf).Counted(CountedScatterND),
    OnnxRow("TensorScatter", 2, 3, TensorScatter).Since(24),
    OnnxRow("Trilu", 1, 2, TriluByMask).Folded(Trilu),
};

}  // namespace

absl::Span<const OnnxRow> OnnxIndexRows() { return kIndexRows; }

}  // namespace ashlar

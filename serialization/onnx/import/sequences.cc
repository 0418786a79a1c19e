// Imports operators that select or reorder slices (Compress, ReverseSequence), and MaxUnpool, the
// inverse of a pooling.
#include <numeric>

#include "opr/gather.h"
#include "opr/pad.h"
#include "opr/scatter.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

// Selects the slices whose condition is true; without an axis, the elements.
// Takes the places along an axis, or of all elements, at which a condition of the run is
// true.
OnnxVars CompressAtMost(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const OnnxVar condition = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  int axis = 0;
  if (node.has_attribute("axis")) {
    axis = node.Axis(node.Int("axis", 0), node.rank(x));
  } else {
    if (node.count(x) != nullptr)
      return node.Unsupported("of all elements, whose number depends on data");
    x = node.Reshaped(x, {node.shape(x).num_elements()});
  }
  if (!node.ok()) return kNoOnnxVar;
  if (node.dtype(condition) != DType::kBool || node.rank(condition) != 1) {
    return node.Invalid("expected a vector of Bool as the condition");
  }
  const OnnxCount* const of_x = node.count(x);
  if (of_x != nullptr && of_x->axis != axis)
    return node.Unsupported("sizes of two axes depend on data");
  const int64_t size = std::min(node.shape(x)[axis], node.shape(condition)[0]);
  if (node.shape(condition)[0] > node.shape(x)[axis]) {
    return node.Invalid("the condition is longer than the axis");
  }
  const OnnxVar places = PlacesOf(node, Filled(node, condition, 0), node.Bound(size));
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar count = CountAlong(node, places, 1);
  const OnnxVar row = node.Counted(node.Reshaped(places, {node.shape(places)[1]}), {count, 0});
  if (size == 0) return node.Counted(x, {count, axis});
  const OnnxVar taken = node.Add<Gather>({axis}, {x, Within(node, row, CountAlong(node, x, axis))});
  return node.Counted(taken, {count, axis});
}

OnnxVars Compress(OnnxNode& node) {
  for (const OnnxVar input : node.inputs()) {
    if (node.count(input) != nullptr) return CompressAtMost(node);
  }
  if (node.num_inputs() == 2 && node.constant(node.inputs()[1]) == nullptr) {
    return CompressAtMost(node);
  }
  OnnxVar x = node.input(0);
  const HostTensor& condition = node.Known(1, "the condition");
  int axis = 0;
  if (node.has_attribute("axis")) {
    axis = node.Axis(node.Int("axis", 0), node.rank(x));
  } else {
    x = node.Reshaped(x, {node.shape(x).num_elements()});
  }
  if (!node.ok()) return kNoOnnxVar;
  const int64_t size = node.shape(x)[axis];
  std::vector<int64_t> taken;
  for (int64_t i = 0; i < condition.num_elements(); ++i) {
    if (condition.At(i) == 0) continue;
    if (i >= size) return node.Invalid(absl::StrCat("condition ", i, " of ", size, " slices"));
    taken.push_back(i);
  }
  return node.Add<Gather>({axis}, {x, node.IntVector(taken)});
}

// Reverses the first slices of each image, as many as `sequence_lens` says. The slices of all
// images form one row, from which they are selected by index.
OnnxVars ReverseSequence(OnnxNode& node) {
  const OnnxVar x = node.input(0), lengths = node.input(1);
  const int batch = node.Axis(node.Int("batch_axis", 1), node.rank(x));
  const int time = node.Axis(node.Int("time_axis", 0), node.rank(x));
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(x);
  if (batch > 1 || time > 1 || batch == time || node.shape(lengths) != Shape{shape[batch]}) {
    return node.Invalid("expected batch and time as the first two axes, and a length each image");
  }
  const int64_t images = shape[batch], steps = shape[time];
  if (node.constant(lengths) != nullptr) {
    for (const int64_t length : node.KnownInts(1, "sequence_lens")) {
      if (length >= 0 && length <= steps) continue;
      return node.Invalid(absl::StrCat("length ", length, " of ", steps));
    }
  }
  const auto along = [&](int axis) {
    std::vector<int64_t> places(static_cast<size_t>(shape[axis]));
    std::iota(places.begin(), places.end(), 0);
    return node.Reshaped(node.IntVector(places), axis == 0 ? Shape{shape[0], 1} : Shape{shape[1]});
  };
  const OnnxVar step = along(time);
  const OnnxVar length = node.Reshaped(node.Converted(lengths, DType::kInt64),
                                       batch == 0 ? Shape{images, 1} : Shape{images});
  const OnnxVar reversed = node.Difference(node.Sum(length, -1), step);
  const OnnxVar within = node.Function(ScalarFunction::kLess, {step, length});
  const OnnxVar from = node.Function(ScalarFunction::kSelect, {within, reversed, step});
  const OnnxVar order = batch == 0
                            ? node.Sum(node.Product(along(0), static_cast<double>(steps)), from)
                            : node.Sum(node.Product(from, static_cast<double>(images)), along(1));
  std::vector<int64_t> dims = {shape[0] * shape[1]};
  dims.insert(dims.end(), shape.dims().begin() + 2, shape.dims().end());
  const OnnxVar slices = node.Reshaped(x, Shape(dims));
  return node.Reshaped(node.Add<Gather>({0}, {slices, node.Reshaped(order, {shape[0] * shape[1]})}),
                       shape);
}

// Places each element at its index, among zeros. Indices count in the whole tensor that the windows
// give without `output_shape`; a larger output is padded at the end.
OnnxVars MaxUnpool(OnnxNode& node) {
  const OnnxVar x = node.input(0), indices = node.input(1);
  const int axes = node.rank(x) - 2;
  if (!node.ok() || axes < 1) return node.Invalid("expected rank 3 or more");
  const size_t count = static_cast<size_t>(axes);
  const std::vector<int64_t> kernel = node.Ints("kernel_shape");
  const std::vector<int64_t> strides = node.Ints("strides", std::vector<int64_t>(count, 1));
  const std::vector<int64_t> pads = node.Ints("pads", std::vector<int64_t>(2 * count, 0));
  if (!node.ok()) return kNoOnnxVar;
  if (kernel.size() != count || strides.size() != count || pads.size() != 2 * count) {
    return node.Invalid("kernel_shape, strides or pads do not fit the rank");
  }
  std::vector<int64_t> dims = {node.shape(x)[0], node.shape(x)[1]};
  for (size_t i = 0; i < count; ++i) {
    dims.push_back((node.shape(x)[static_cast<int>(i) + 2] - 1) * strides[i] - pads[i] -
                   pads[i + count] + kernel[i]);
  }
  std::optional<HostTensor> zeros = node.NewTensor(node.dtype(x), dims);
  if (!zeros) return kNoOnnxVar;
  const Shape whole = zeros->shape();
  const int64_t elements = node.shape(x).num_elements();
  const OnnxVar flat = node.Add<ScatterElements>(
      {0}, {node.Reshaped(node.Constant(*std::move(zeros)), {whole.num_elements()}),
            node.Reshaped(indices, {elements}), node.Reshaped(x, {elements})});
  const OnnxVar y = node.Reshaped(flat, whole);
  if (!node.has(2)) return y;
  const std::vector<int64_t> wanted = node.KnownInts(2, "output_shape");
  if (!node.ok()) return kNoOnnxVar;
  if (static_cast<int>(wanted.size()) != whole.rank()) return node.Invalid("output_shape");
  PadParam param;
  param.begin.assign(wanted.size(), 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    param.end.push_back(wanted[i] - whole[static_cast<int>(i)]);
  }
  return node.Add<Pad>(std::move(param), {y});
}

constexpr OnnxRow kSequenceRows[] = {
    OnnxRow("Compress", 2, 2, Compress).Counted(CountedByItself).Limits("with a count"),
    OnnxRow("MaxUnpool", 2, 3, MaxUnpool),
    OnnxRow("ReverseSequence", 2, 2, ReverseSequence),
};

}  // namespace

absl::Span<const OnnxRow> OnnxSequenceRows() { return kSequenceRows; }

}  // namespace ashlar

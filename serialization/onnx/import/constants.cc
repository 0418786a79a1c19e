// Imports constants: given as attributes, or computed from shapes.
#include <algorithm>
#include <cmath>

#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

OnnxVars Constant(OnnxNode& node) {
  if (std::optional<HostTensor> value = node.Tensor("value")) {
    return node.Constant(*std::move(value));
  }
  if (std::optional<HostTensor> value = node.SparseTensor("sparse_value")) {
    return node.Constant(*std::move(value));
  }
  if (node.has_attribute("value_int")) {
    HostTensor value = HostTensor::Zeros(DType::kInt64, {});
    value.mutable_data<int64_t>()[0] = node.Int("value_int", 0);
    return node.Constant(std::move(value));
  }
  if (node.has_attribute("value_float")) {
    return node.Scalar(node.Float("value_float", 0), DType::kFloat32);
  }
  if (node.has_attribute("value_ints")) return node.IntVector(node.Ints("value_ints"));
  if (node.has_attribute("value_floats")) {
    const std::vector<float> values = node.Floats("value_floats");
    const Shape shape = {static_cast<int64_t>(values.size())};
    return node.Constant(HostTensor::FromValues<float>(DType::kFloat32, shape, values));
  }
  return node.ok() ? node.Unsupported("a constant that is no tensor and no number") : kNoOnnxVar;
}

OnnxVars ConstantOfShape(OnnxNode& node) {
  const std::vector<int64_t> dims = node.KnownInts(0, "the shape");
  const HostTensor value = node.Tensor("value").value_or(HostTensor::Zeros(DType::kFloat32, {1}));
  if (node.ok() && value.num_elements() != 1) return node.Invalid("value has not one element");
  std::optional<HostTensor> result;
  if (node.ok()) result = node.NewTensor(value.dtype(), dims);
  if (!result) return kNoOnnxVar;
  if (value.dtype() == DType::kFloat32) {
    const absl::Span<float> to = result->mutable_data<float>();
    std::fill(to.begin(), to.end(), value.data<float>()[0]);
  } else {
    for (int64_t i = 0; i < result->num_elements(); ++i) CopyElement(value, 0, *result, i);
  }
  return node.Constant(*std::move(result));
}

OnnxVars ShapeOf(OnnxNode& node) {
  const Shape& shape = node.shape(node.input(0));
  const int64_t rank = shape.rank();
  const auto bound = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const int64_t start = bound(node.Int("start", 0));
  const int64_t end = std::max(bound(node.Int("end", rank)), start);
  return node.IntVector(shape.dims().subspan(start, end - start));
}

OnnxVars Size(OnnxNode& node) {
  HostTensor size = HostTensor::Zeros(DType::kInt64, {});
  size.mutable_data<int64_t>()[0] = node.shape(node.input(0)).num_elements();
  return node.Constant(std::move(size));
}

OnnxVars RangeOfNumbers(OnnxNode& node) {
  const HostTensor& start = node.Known(0, "start");
  const HostTensor& limit = node.Known(1, "limit");
  const HostTensor& delta = node.Known(2, "delta");
  if (!node.ok()) return kNoOnnxVar;
  for (const HostTensor* bound : {&start, &limit, &delta}) {
    if (bound->num_elements() != 1 || bound->dtype() != start.dtype()) {
      return node.Invalid("start, limit and delta: expected one element each, of one dtype");
    }
  }
  const double step = delta.At(0);
  if (step == 0) return node.Invalid("delta is 0");
  const bool exact = !IsFloat(start.dtype());
  double count = std::ceil((limit.At(0) - start.At(0)) / step);
  if (exact) {  // a double loses the last digits of an Int64
    const __int128 distance = __int128{limit.IntegerAt(0)} - start.IntegerAt(0);
    const __int128 stride = delta.IntegerAt(0), rest = distance % stride;
    count = static_cast<double>(distance / stride + (rest != 0 && (rest < 0) == (stride < 0)));
  }
  if (!(count < 1e12)) return node.Invalid(absl::StrCat(count, " elements"));
  std::optional<HostTensor> result =
      node.NewTensor(start.dtype(), {static_cast<int64_t>(std::max(count, 0.0))});
  if (!result) return kNoOnnxVar;
  for (int64_t i = 0; i < result->num_elements(); ++i) {
    if (exact) {
      const WrappingInt first = start.IntegerAt(0), distance = WrappingInt(i) * delta.IntegerAt(0);
      result->SetInteger(i, (first + distance).value);
    } else {
      result->Set(i, start.At(0) + static_cast<double>(i) * step);
    }
  }
  return node.Constant(*std::move(result));
}

OnnxVars EyeLike(OnnxNode& node) {
  const OnnxVar like = node.input(0);
  const int64_t diagonal = node.Int("k", 0);
  const DType dtype = OnnxDTypeOr(node, node.dtype(like));
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(like) != 2) return node.Invalid("expected a matrix");
  std::optional<HostTensor> result = node.NewTensor(dtype, node.shape(like).dims());
  if (!result) return kNoOnnxVar;
  const int64_t rows = result->shape()[0], columns = result->shape()[1];
  if (diagonal <= -rows || diagonal >= columns) return node.Constant(*std::move(result));
  for (int64_t row = std::max<int64_t>(-diagonal, 0); row < rows && row + diagonal < columns;
       ++row) {
    result->Set(row * columns + row + diagonal, 1);
  }
  return node.Constant(*std::move(result));
}

constexpr OnnxRow kConstantRows[] = {
    OnnxRow("Constant", 0, 0, nullptr).Folded(Constant),
    OnnxRow("ConstantOfShape", 1, 1, ConstantOfShape).Counted(CountedFilling).Bounded(),
    OnnxRow("EyeLike", 1, 1, EyeLike).OfShapes(),
    OnnxRow("Range", 3, 3, RangeOfNumbers).Counted(CountedNumbers).Bounded(),
    OnnxRow("Shape", 1, 1, ShapeOf).OfShapes().CountedTwice(CountedShape),
    OnnxRow("Size", 1, 1, Size).OfShapes().Counted(CountedSize),
};

}  // namespace

absl::Span<const OnnxRow> OnnxConstantRows() { return kConstantRows; }

}  // namespace ashlar

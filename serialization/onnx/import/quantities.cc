#include "serialization/onnx/import/quantities.h"

#include <algorithm>
#include <cmath>

#include "opr/subtensor.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

void CheckScales(OnnxNode& node, const HostTensor& scales) {
  for (int64_t i = 0; i < scales.num_elements(); ++i) {
    const double scale = scales.At(i);
    if (scale > 0 && std::isfinite(scale)) continue;
    node.Invalid(absl::StrCat("scale ", i, " is ", scale, ", expected a positive number"));
    return;
  }
}

// Reports an error if scales or zero points do not fit the tensor.
void CheckShape(OnnxNode& node, const char* what, OnnxVar values, const Shape& shape, int axis,
                int64_t block_size, bool broadcast) {
  if (!node.ok() || values == kNoOnnxVar) return;
  const Shape own = node.shape(values);
  if (own.num_elements() == 1 && own.rank() <= 1) return;
  bool fits = false;
  if (block_size > 0) {
    fits = own.rank() == shape.rank();
    for (int i = 0; fits && i < shape.rank(); ++i) {
      fits = own[i] == (i == axis ? (shape[i] + block_size - 1) / block_size : shape[i]);
    }
  } else if (own.rank() == 1) {
    fits = axis < shape.rank() && own[0] == shape[axis];
  } else if (broadcast) {
    const absl::StatusOr<Shape> both = Broadcast(own, shape);
    fits = both.ok() && *both == shape;
  }
  if (fits) return;
  node.Invalid(absl::StrCat(what, " is ", own.ToString(), ", for axis ", axis, " of ",
                            shape.ToString(),
                            block_size > 0 ? absl::StrCat(" in blocks of ", block_size) : ""));
}

// Returns an upper bound on the distance of stored integers from their zero points.
double MostOf(OnnxNode& node, OnnxVar stored, OnnxVar zero) {
  const DType dtype = node.dtype(stored);
  const double range = std::ldexp(1.0, static_cast<int>(8 * SizeOf(dtype))) - 1;
  const double least = IsUnsigned(dtype) ? 0 : -(range + 1) / 2;
  if (zero == kNoOnnxVar) return std::max(-least, least + range);
  const HostTensor* const known = node.constant(zero);
  if (known == nullptr) return range;
  double most = 0;
  for (int64_t i = 0; i < known->num_elements(); ++i) {
    most = std::max({most, known->At(i) - least, least + range - known->At(i)});
  }
  return most;
}

double Farthest(const HostTensor& values) {
  double most = 0;
  for (int64_t i = 0; i < values.num_elements(); ++i) most = std::max(most, std::abs(values.At(i)));
  return most;
}

// Returns rint(values) + zero, as Float32.
OnnxVar Moved(OnnxNode& node, OnnxVar values, OnnxVar zero) {
  const OnnxVar rounded = node.Function(F::kRint, {values});
  if (IsCentred(node, zero)) return rounded;
  return node.Sum(rounded, node.Converted(zero, DType::kFloat32));
}

}  // namespace

OnnxQuantization QuantizationOf(OnnxNode& node, int scale, int zero, const Shape& shape, int axis,
                                int64_t block_size, bool broadcast) {
  OnnxQuantization quantization;
  quantization.axis = axis;
  // A block is at most as long as the axis, whatever the file says.
  quantization.block_size =
      axis < shape.rank() ? std::clamp<int64_t>(block_size, 0, shape[axis]) : 0;
  block_size = quantization.block_size;
  if (scale >= 0) {
    quantization.scale = node.input(scale);
    if (node.ok() && !IsFloat(node.dtype(quantization.scale))) {
      node.Invalid(absl::StrCat("the scale is ", Name(node.dtype(quantization.scale))));
    }
    CheckShape(node, "the scale", quantization.scale, shape, axis, block_size, broadcast);
    const HostTensor* const known = node.constant(quantization.scale);
    if (node.ok() && known != nullptr) CheckScales(node, *known);
  }
  if (zero >= 0 && node.has(zero)) {
    quantization.zero = node.input(zero);
    CheckShape(node, "the zero point", quantization.zero, shape, axis, block_size, broadcast);
    const int64_t count = node.shape(quantization.zero).num_elements();
    if (node.ok() && scale >= 0 && count > 1 &&
        count != node.shape(quantization.scale).num_elements()) {
      node.Invalid(absl::StrCat("the zero point is ", node.shape(quantization.zero).ToString(),
                                ", the scale ", node.shape(quantization.scale).ToString()));
    }
  }
  return quantization;
}

OnnxVar Spread(OnnxNode& node, const OnnxQuantization& quantization, OnnxVar values,
               const Shape& shape) {
  if (!node.ok() || values == kNoOnnxVar) return values;
  const Shape own = node.shape(values);
  const int axis = quantization.axis;
  if (quantization.block_size == 0 || own.num_elements() == 1) {
    return OnnxAlongAxis(node, values, axis, shape.rank());
  }
  if (own.rank() == Shape::kMaxRank) {
    return node.Unsupported(absl::StrCat("blocks in ", own.rank(), " dimensions"));
  }
  // Repeats each value along the axis, and cuts off the excess.
  Shape apart, repeated, joined = own;
  for (int i = 0; i < own.rank(); ++i) {
    apart.push_back(own[i]);
    repeated.push_back(own[i]);
    if (i != axis) continue;
    apart.push_back(1);
    repeated.push_back(quantization.block_size);
  }
  joined[axis] = own[axis] * quantization.block_size;
  OnnxVar spread = node.BroadcastTo(node.Reshaped(values, apart), repeated);
  spread = node.Reshaped(spread, joined);
  if (joined[axis] == shape[axis]) return spread;
  return node.Add<Subtensor>({{axis}, {0}, {1}, {0}, {0}}, {spread, node.IntVector({shape[axis]})});
}

bool IsCentred(OnnxNode& node, OnnxVar zero) {
  if (zero == kNoOnnxVar) return true;
  const HostTensor* const known = node.constant(zero);
  return known != nullptr && Farthest(*known) == 0;
}

OnnxIntegers Centred(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization) {
  if (!node.ok()) return {};
  OnnxIntegers integers = {node.Converted(stored, DType::kFloat32),
                           MostOf(node, stored, quantization.zero)};
  if (!IsCentred(node, quantization.zero)) {
    const OnnxVar zero = node.Converted(quantization.zero, DType::kFloat32);
    integers.var =
        node.Difference(integers.var, Spread(node, quantization, zero, node.shape(stored)));
  }
  if (const HostTensor* known = node.constant(integers.var)) integers.most = Farthest(*known);
  return integers;
}

OnnxVar Quantized(OnnxNode& node, OnnxVar values, const OnnxQuantized& to) {
  return node.Converted(Moved(node, node.Quotient(values, to.scale), to.zero), to.dtype);
}

OnnxVar Requantized(OnnxNode& node, const OnnxQuantity& sums, const OnnxQuantized& to) {
  const OnnxVar factor = node.Quotient(sums.scale, node.Product(to.scale, sums.count));
  const bool rectified = sums.least == 0;
  OnnxVar result = rectified ? node.Function(F::kRelu, {sums.integers}) : sums.integers;
  result = Moved(node, node.Product(result, factor), to.zero);
  // Bounds are quantised like the values.
  const auto bound = [&](double value) {
    const OnnxVar number = node.Scalar(value, DType::kFloat32);
    return Moved(node, node.Quotient(number, to.scale), to.zero);
  };
  if (!rectified && std::isfinite(sums.least)) {
    result = node.Function(F::kMax, {result, bound(sums.least)});
  }
  if (std::isfinite(sums.greatest)) {
    result = node.Function(F::kMin, {result, bound(sums.greatest)});
  }
  return node.Converted(result, to.dtype);
}

OnnxVar LinearAs(OnnxNode& node, const char* type, OnnxVar x, OnnxVar weights) {
  if (!node.ok()) return kNoOnnxVar;
  OnnxNode linear = node.Exactly({x, weights});
  const OnnxVars result = FindOnnxRow("", type, kNewestOperatorSet)->run(linear);
  if (absl::Status status = linear.Finish(); !status.ok()) return node.Fail(std::move(status));
  return result[0];
}

}  // namespace ashlar

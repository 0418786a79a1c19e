// Imports quantised operators. Uses 8-bit operators if there are any (quantities.h). Otherwise
// Float32 holds the integers exactly; they are multiplied and summed as floats, then rounded half
// to even.
#include "opr/reduce.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/import/quantities.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

bool IsByte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUint8; }
bool IsOf16Bits(DType dtype) { return dtype == DType::kInt16 || dtype == DType::kUint16; }

// Returns the axis along which scales and zero points are a vector; other scales have none.
int QuantizedAxis(OnnxNode& node, int scale, const Shape& shape) {
  const int64_t axis = node.Int("axis", 1);
  if (!node.ok() || node.shape(node.input(scale)).num_elements() == 1) return 0;
  return node.Axis(axis, shape.rank());
}

OnnxVars DequantizeLinear(OnnxNode& node) {
  node.Ignore({"output_dtype"});  // a float type, which is computed as Float32
  const OnnxVar x = node.input(0);
  const Shape shape = node.shape(x);
  const int axis = QuantizedAxis(node, 1, shape);
  const OnnxQuantization quantization =
      QuantizationOf(node, 1, 2, shape, axis, node.Int("block_size", 0));
  if (!node.ok()) return kNoOnnxVar;
  const DType stored = node.dtype(x);
  if (!IsByte(stored) && !IsOf16Bits(stored) && stored != DType::kInt32) {
    return node.Invalid(absl::StrCat("of ", Name(node.dtype(x))));
  }
  if (quantization.zero != kNoOnnxVar && node.dtype(quantization.zero) != node.dtype(x)) {
    return node.Invalid(absl::StrCat("the zero point is ", Name(node.dtype(quantization.zero)),
                                     ", the tensor ", Name(node.dtype(x))));
  }
  const OnnxIntegers integers = Centred(node, x, quantization);
  const OnnxVar quantized = AsQuantized(node, x, quantization);
  const OnnxVar y =
      quantized != kNoOnnxVar
          ? node.Converted(quantized, DType::kFloat32)
          : node.Product(integers.var, Spread(node, quantization, quantization.scale, shape));
  if (!node.ok()) return kNoOnnxVar;
  const int rank = node.rank(quantization.scale);
  // Operators on integers of 16 bits are computed in floats.
  if (quantization.block_size == 0 && rank <= 1 && !IsOf16Bits(stored)) {
    OnnxQuantity quantity;
    const bool one = node.shape(quantization.scale).num_elements() == 1;
    quantity.integers = integers.var;
    quantity.scale = one ? node.Reshaped(quantization.scale, {}) : quantization.scale;
    quantity.axis = one ? -1 : axis;
    quantity.most = integers.most;
    const HostTensor* const zero = node.constant(quantization.zero);
    bool centred = quantization.zero == kNoOnnxVar || zero != nullptr;
    for (int64_t i = 0; zero != nullptr && i < zero->num_elements(); ++i) {
      centred = centred && zero->At(i) == 0;
    }
    if (centred) quantity.stored = x;
    quantity.quantized = quantized;
    node.SetQuantity(y, quantity);
  }
  return y;
}

OnnxVars QuantizeLinear(OnnxNode& node) {
  node.Ignore({"saturate", "precision"});  // only for 8-bit floats; precision of the quotient
  const OnnxVar x = node.input(0);
  const Shape shape = node.shape(x);
  const int axis = QuantizedAxis(node, 1, shape);
  const OnnxQuantization quantization =
      QuantizationOf(node, 1, 2, shape, axis, node.Int("block_size", 0));
  const int64_t given = node.Int("output_dtype", onnx::TensorProto::UNDEFINED);
  if (!node.ok()) return kNoOnnxVar;
  OnnxQuantized to;
  if (quantization.zero != kNoOnnxVar) {
    to.dtype = node.dtype(quantization.zero);
  } else if (given != onnx::TensorProto::UNDEFINED) {
    const absl::StatusOr<DType> dtype = ComputedAs(given);
    if (!dtype.ok()) return node.Fail(dtype.status());
    to.dtype = *dtype;
  }
  if (!IsByte(to.dtype) && !IsOf16Bits(to.dtype)) {
    return node.Unsupported(absl::StrCat("to ", Name(to.dtype)));
  }
  to.scale = quantization.scale;
  to.zero = quantization.zero;
  const OnnxQuantity* const noted = node.ok() ? node.quantity(x) : nullptr;
  const std::optional<TensorType> type = QuantizedTypeOf(node, to, shape);
  using Kind = OnnxQuantity::Kind;
  const bool sums = noted != nullptr && noted->kind == Kind::kSums;
  const bool stepwise = noted != nullptr && noted->kind == Kind::kStepwise;
  if (type) {
    OnnxVar made = noted == nullptr ? kNoOnnxVar : MadeInIntegers(node, *noted, *type);
    if (made == kNoOnnxVar && !sums) {
      const Quantization& of = type->quantization;
      made = node.Add<TypeCvt>({type->dtype, of.scale(), of.zero_point()},
                               {node.Converted(stepwise ? noted->integers : x, DType::kFloat32)});
    }
    if (made != kNoOnnxVar || !node.ok()) return node.Converted(made, to.dtype);
  }
  to.scale = Spread(node, quantization, quantization.scale, shape);
  to.zero = Spread(node, quantization, quantization.zero, shape);
  if (sums && node.ok()) return Requantized(node, *noted, to);
  return Quantized(node, node.Converted(stepwise ? noted->integers : x, DType::kFloat32), to);
}

// Divides the range of all elements and zero into 255 steps.
OnnxVars DynamicQuantizeLinear(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar row = node.Reshaped(x, {node.shape(x).num_elements()});
  const auto extreme = [&](ReduceMode mode) {
    return node.Reshaped(node.Add<Reduce>({mode, 0}, {row}), {});
  };
  const OnnxVar low = node.Least(extreme(ReduceMode::kMin), 0);
  const OnnxVar range = node.Difference(node.Greatest(extreme(ReduceMode::kMax), 0), low);
  const OnnxVar nothing = node.Scalar(0, DType::kFloat32), one = node.Scalar(1, DType::kFloat32);
  const OnnxVar steps = node.Quotient(range, node.Scalar(255, DType::kFloat32));
  OnnxQuantized to;
  to.scale = node.Function(F::kSelect, {node.Function(F::kEqual, {range, nothing}), one, steps});
  to.zero = Quantized(node, node.Difference(nothing, low), to);
  return {Quantized(node, x, to), to.scale, to.zero};
}

// The operand of a linear operator: the input numbers of its values, scale and zero point.
struct Operand {
  int input, scale, zero;
};

struct Linear {
  const char* type;  // the Float32 operator
  Operand x, weights;
  int x_axis, weights_axis;  // axes of scales and zero points
  int result_axis;           // axis of the weights' channels
  int64_t terms;
};

Linear ConvolutionOf(OnnxNode& node, Operand x, Operand weights) {
  const Shape& shape = node.shape(node.input(weights.input));
  if (node.ok() && shape.rank() < 3) node.Invalid(absl::StrCat("weights are ", shape.ToString()));
  if (!node.ok()) return {};
  return {"Conv", x, weights, 0, 0, 1, shape.num_elements() / std::max<int64_t>(shape[0], 1)};
}

Linear ProductOf(OnnxNode& node, Operand a, Operand b) {
  const Shape &left = node.shape(node.input(a.input)), &right = node.shape(node.input(b.input));
  if (!node.ok()) return {};
  const int rank = std::max(left.rank(), right.rank());
  if (left.rank() < 2 || right.rank() < 2) {
    node.Unsupported("of vectors");
    return {};
  }
  return {"MatMul", a, b, left.rank() - 2, right.rank() - 1, rank - 1, right[right.rank() - 2]};
}

// Returns the scales of both operands, shaped so that their product broadcasts to the result.
OnnxVar ScalesOf(OnnxNode& node, const Linear& linear, const OnnxQuantization& x,
                 const OnnxQuantization& weights, int rank) {
  const OnnxVar along_x = Spread(node, x, x.scale, node.shape(node.input(linear.x.input)));
  const OnnxVar along_weights = node.rank(weights.scale) <= 1
                                    ? OnnxAlongAxis(node, weights.scale, linear.result_axis, rank)
                                    : weights.scale;
  return node.Product(along_x, along_weights);
}

// The sums of the operands' products, and their scale if the operator has one.
struct Sums {
  OnnxIntegerSums integers;
  OnnxVar scale = kNoOnnxVar;
};

Sums SumsOf(OnnxNode& node, const Linear& linear, int bias) {
  if (!node.ok()) return {};
  const OnnxVar x = node.input(linear.x.input), weights = node.input(linear.weights.input);
  const bool product = absl::string_view(linear.type) == "MatMul";
  const auto quantization = [&](const Operand& operand, OnnxVar var, int axis) {
    if (!IsByte(node.dtype(var))) node.Invalid(absl::StrCat("of ", Name(node.dtype(var))));
    return QuantizationOf(node, operand.scale, operand.zero, node.shape(var), axis, 0, product);
  };
  const OnnxQuantization of_x = quantization(linear.x, x, linear.x_axis);
  const OnnxQuantization of_weights = quantization(linear.weights, weights, linear.weights_axis);
  const HostTensor* addend = nullptr;
  if (bias >= 0 && node.has(bias)) {
    addend = &node.Known(bias, "the bias");
    if (node.ok() && (addend->dtype() != DType::kInt32 ||
                      addend->num_elements() != node.shape(weights)[linear.weights_axis])) {
      node.Invalid(absl::StrCat("the bias is ", Name(addend->dtype()), addend->shape().ToString()));
    }
  }
  if (!node.ok()) return {};
  const auto compute = [&](OnnxVar a, OnnxVar b) { return LinearAs(node, linear.type, a, b); };
  const std::optional<OnnxIntegerSums> sums =
      SumsOfIntegers(node, compute, Centred(node, x, of_x), Centred(node, weights, of_weights),
                     linear.weights_axis, linear.terms, addend, linear.result_axis);
  if (!sums) {
    node.Unsupported(absl::StrCat("sums of ", linear.terms, " products, which may be inexact"));
    return {};
  }
  if (!node.ok() || linear.x.scale < 0) return {*sums};
  return {*sums, ScalesOf(node, linear, of_x, of_weights, node.rank(sums->low))};
}

// Quantises the sums; `y` has the input numbers of the result's scale and zero point.
OnnxVar QuantizedSums(OnnxNode& node, const Sums& sums, Operand y) {
  if (!node.ok()) return kNoOnnxVar;
  const Shape& shape = node.shape(sums.integers.low);
  const OnnxQuantization quantization =
      QuantizationOf(node, y.scale, y.zero, shape, std::max(shape.rank() - 2, 0), 0, true);
  OnnxQuantized to;
  to.scale = Spread(node, quantization, quantization.scale, shape);
  to.zero = Spread(node, quantization, quantization.zero, shape);
  if (!node.ok()) return kNoOnnxVar;
  to.dtype = node.dtype(quantization.zero);
  if (!IsByte(to.dtype)) return node.Unsupported(absl::StrCat("to ", Name(to.dtype)));
  OnnxQuantity quantity;
  quantity.kind = OnnxQuantity::Kind::kSums;
  quantity.integers = sums.integers.Rounded(node);
  quantity.scale = sums.scale;
  return Requantized(node, quantity, to);
}

void IgnoreWindows(OnnxNode& node) {  // the Float32 convolution reads them
  node.Ignore({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
}

OnnxVars QLinearConv(OnnxNode& node) {
  IgnoreWindows(node);
  return QuantizedSums(node, SumsOf(node, ConvolutionOf(node, {0, 1, 2}, {3, 4, 5}), 8),
                       {-1, 6, 7});
}

OnnxVars QLinearMatMul(OnnxNode& node) {
  return QuantizedSums(node, SumsOf(node, ProductOf(node, {0, 1, 2}, {3, 4, 5}), -1), {-1, 6, 7});
}

OnnxVars ConvInteger(OnnxNode& node) {
  IgnoreWindows(node);
  const Sums sums = SumsOf(node, ConvolutionOf(node, {0, -1, 2}, {1, -1, 3}), -1);
  return node.ok() ? sums.integers.AsInt32(node) : kNoOnnxVar;
}

OnnxVars MatMulInteger(OnnxNode& node) {
  const Sums sums = SumsOf(node, ProductOf(node, {0, -1, 2}, {1, -1, 3}), -1);
  return node.ok() ? sums.integers.AsInt32(node) : kNoOnnxVar;
}

constexpr char kIntegers[] = "of 8 and 16 bits";
constexpr char kSummed[] = "of 8 bits, sums below 2^24 by parts";

constexpr OnnxRow kQuantizationRows[] = {
    OnnxRow("ConvInteger", 2, 4, ConvInteger).Limits(kSummed),
    OnnxRow("DequantizeLinear", 2, 3, DequantizeLinear).Limits("of 8, 16 and 32 bits"),
    OnnxRow("DequantizeLinear", 2, 3, DequantizeLinear)
        .In(kMicrosoftDomain)
        .Limits("of 8, 16 and 32 bits"),
    OnnxRow("DynamicQuantizeLinear", 1, 1, DynamicQuantizeLinear),
    OnnxRow("MatMulInteger", 2, 4, MatMulInteger).Limits(kSummed),
    OnnxRow("QLinearConv", 8, 9, QLinearConv).Limits(kSummed),
    OnnxRow("QLinearMatMul", 8, 8, QLinearMatMul).Limits(kSummed),
    OnnxRow("QuantizeLinear", 2, 3, QuantizeLinear).Limits(kIntegers),
    OnnxRow("QuantizeLinear", 2, 3, QuantizeLinear).In(kMicrosoftDomain).Limits(kIntegers),
};

}  // namespace

absl::Span<const OnnxRow> OnnxQuantizationRows() { return kQuantizationRows; }

}  // namespace ashlar

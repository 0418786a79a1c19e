// Imports arithmetic, element by element.
#include <cmath>

#include "graph/one_value.h"
#include "opr/integer_elemwise.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

template <ScalarFunction kFunction>
OnnxVars Binary(OnnxNode& node) {
  return node.Function(kFunction, {node.input(0), OnnxSecondOperand(node)});
}

// Joins any number of inputs.
OnnxVar Joined(OnnxNode& node, ScalarFunction function) {
  node.Ignore({"consumed_inputs"});
  OnnxVar result = node.input(0);
  for (int i = 1; i < node.num_inputs(); ++i) {
    result = node.Function(function, {result, node.input(i)});
  }
  return result;
}

template <ScalarFunction kFunction>
OnnxVars Several(OnnxNode& node) {
  return Joined(node, kFunction);
}

OnnxVars Mean(OnnxNode& node) {
  return node.Product(Joined(node, F::kAdd), 1.0 / node.num_inputs());
}

// Truncates for integers.
OnnxVars Div(OnnxNode& node) {
  const bool floats = IsFloat(node.dtype(node.input(0)));
  return floats ? Binary<F::kTrueDiv>(node) : Binary<F::kTruncDiv>(node);
}

OnnxVars Mod(OnnxNode& node) {
  const bool as_c = node.Int("fmod", 0) != 0;
  if (!as_c && IsFloat(node.dtype(node.input(0))) && node.version() < 28) {
    return node.Invalid("fmod is 0 for floats");
  }
  return node.Function(as_c ? F::kFmod : F::kMod, {node.input(0), node.input(1)});
}

OnnxVars DivOfConstants(OnnxNode& node) {
  if (IsFloat(node.dtype(node.input(0)))) return Binary<F::kTrueDiv>(node);
  const OnnxVar divisor = OnnxSecondOperand(node);
  const HostTensor* divisors = node.constant(divisor);
  for (int64_t i = 0; divisors != nullptr && i < divisors->num_elements(); ++i) {
    if (divisors->At(i) == 0) return node.Invalid("integers are divided by 0");
  }
  return node.Function(F::kTruncDiv, {node.input(0), divisor});
}

bool AreWhole(const HostTensor& numbers) {
  for (int64_t i = 0; i < numbers.num_elements(); ++i) {
    if (numbers.At(i) != std::trunc(numbers.At(i))) return false;
  }
  return true;
}

// Raises integers to exponents that may be floats, and truncates.
OnnxVar PowerOfIntegers(OnnxNode& node, OnnxVar base, OnnxVar exponent) {
  const DType dtype = node.dtype(base);
  const HostTensor* const known = node.constant(exponent);
  if (known != nullptr && IsFloat(known->dtype()) && AreWhole(*known)) {
    exponent = node.Converted(exponent, DType::kInt64);
  }
  if (IsFloat(node.dtype(exponent))) {
    const auto wide = [&](OnnxVar x) { return node.Converted(x, DType::kFloat64); };
    return node.Converted(node.Function(F::kPow, {wide(base), wide(exponent)}), dtype);
  }
  // Uses squares and products, for which GPUs have kernels.
  constexpr double kMost = 62;
  const bool one = node.constant(base) == nullptr && known != nullptr &&
                   known->num_elements() == 1 && known->shape().rank() <= node.rank(base);
  const double number = one ? known->At(0) : -1;
  if (!(number >= 1 && number <= kMost)) {
    return node.Add<IntegerElemwise>({IntegerFunction::kPow}, {base, exponent});
  }
  OnnxVar power = kNoOnnxVar, square = base;
  for (int rest = static_cast<int>(number); rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = power == kNoOnnxVar ? square : node.Product(power, square);
    if (rest > 1) square = node.Product(square, square);
  }
  return power;
}

// The result has the dtype of the base.
OnnxVars Pow(OnnxNode& node) {
  const OnnxVar base = node.input(0);
  OnnxVar exponent = OnnxSecondOperand(node);
  const DType dtype = node.dtype(base);
  if (!IsFloat(dtype)) return PowerOfIntegers(node, base, exponent);
  exponent = node.Converted(exponent, dtype);
  const HostTensor* value = node.constant(exponent);
  if (value != nullptr && value->num_elements() == 1 && value->shape().rank() <= node.rank(base)) {
    if (value->At(0) == 2) return node.Product(base, base);
    if (value->At(0) == 0.5) return node.Function(F::kSqrt, {base});
  }
  return node.Function(F::kPow, {base, exponent});
}

OnnxVars Reciprocal(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  const OnnxVar x = node.input(0);
  return node.Quotient(node.Scalar(1, node.dtype(x)), x);
}

OnnxVars ModOfConstants(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = node.input(1);
  const bool as_c = node.Int("fmod", 0) != 0;
  if (IsFloat(node.dtype(a))) {
    if (!as_c && node.version() < 28) return node.Invalid("fmod is 0 for floats");
    return node.Function(as_c ? F::kFmod : F::kMod, {a, b});
  }
  const HostTensor* divisors = node.constant(b);
  for (int64_t i = 0; divisors != nullptr && i < divisors->num_elements(); ++i) {
    if (divisors->At(i) == 0) return node.Invalid("integers are divided by 0");
  }
  return node.Function(as_c ? F::kFmod : F::kMod, {a, b});
}

// Exporters write equal weights once, and the others as its identities. If all elements are equal,
// as in new biases and norms, the weights belong to several layers (training/own_weights.h), and
// each is found by its own name. Otherwise they are one weight with several names.
OnnxVars Identity(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const HostTensor* const value = node.ok() ? node.constant(x) : nullptr;
  if (value == nullptr || value->dtype() != DType::kFloat32 || value->shape().rank() == 0) return x;
  return HasOneValue(*value) && node.quantity(x) == nullptr ? node.CopyConstant(x) : x;
}

// For 16-bit floats, values are rounded but stay Float32.
OnnxVar CastTo(OnnxNode& node, OnnxVar x, int64_t onnx_type) {
  const absl::StatusOr<DType> to = ComputedAs(onnx_type);
  if (!to.ok()) return node.Fail(to.status());
  OnnxVar value = x;
  if (onnx_type == onnx::TensorProto::FLOAT16) value = node.Converted(x, DType::kFloat16);
  if (onnx_type == onnx::TensorProto::BFLOAT16) value = node.Converted(x, DType::kBFloat16);
  return node.Converted(value, *to);
}

OnnxVars Cast(OnnxNode& node) {
  node.Ignore({"saturate", "round_mode"});  // only for 8-bit floats
  const OnnxVar x = node.input(0);
  if (node.version() >= 6) return CastTo(node, x, node.Int("to", 0));
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  const std::string name = node.Text("to", "");
  if (!onnx::TensorProto::DataType_Parse(name, &type)) {
    return node.Invalid(absl::StrCat("to is '", name.substr(0, 64), "'"));
  }
  return CastTo(node, x, type);
}

OnnxVars CastLike(OnnxNode& node) {
  node.Ignore({"saturate", "round_mode"});
  const OnnxVar x = node.input(0), like = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  if (!IsFloat(node.dtype(like))) return node.Converted(x, node.dtype(like));
  // A 16-bit float is computed as Float32.
  const int onnx_type = node.onnx_type(1);
  return onnx_type == 0 ? node.Converted(x, node.dtype(like)) : CastTo(node, x, onnx_type);
}

constexpr OnnxRow kArithmeticRows[] = {
    OnnxRow("Add", 2, 2, Binary<F::kAdd>).Rising(),
    OnnxRow("Cast", 1, 1, Cast).Limits("16-bit floats are rounded, and stay Float32").Rising(),
    OnnxRow("CastLike", 2, 2, CastLike).Limits("as Cast"),
    OnnxRow("Div", 2, 2, Div).Folded(DivOfConstants).Ranged(OnnxRangeRule::kQuotient),
    OnnxRow("Identity", 1, 1, Identity).Rising(),
    OnnxRow("Max", 1, OnnxRow::kAny, Several<F::kMax>).Rising(),
    OnnxRow("Mean", 1, OnnxRow::kAny, Mean),
    OnnxRow("Min", 1, OnnxRow::kAny, Several<F::kMin>).Rising(),
    OnnxRow("Mod", 2, 2, Mod).Folded(ModOfConstants),
    OnnxRow("Mul", 2, 2, Binary<F::kMul>).Ranged(OnnxRangeRule::kProduct),
    OnnxRow("Pow", 2, 2, Pow),
    OnnxRow("Reciprocal", 1, 1, Reciprocal),
    OnnxRow("Sub", 2, 2, Binary<F::kSub>).Ranged(OnnxRangeRule::kDifference),
    OnnxRow("Sum", 1, OnnxRow::kAny, Several<F::kAdd>).Rising(),
};

}  // namespace

absl::Span<const OnnxRow> OnnxArithmeticRows() { return kArithmeticRows; }

}  // namespace ashlar

// Exports operators that compute with elements and matrices.
#include <cmath>
#include <iterator>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/elemwise.h"
#include "opr/elemwise_multi_type.h"
#include "opr/integer_elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/export/operators.h"

namespace ashlar {
namespace {

// Operator set 13 has few operators for bytes and Bool. No operators of ONNX are FUSE_ADD_RELU of
// integers, whose sum does not wrap around before it is compared.
absl::Status CheckElemwiseType(const OnnxEmitter& emitter, ScalarFunction function) {
  const DType dtype = emitter.output_type().dtype;
  const bool lacks = function == ScalarFunction::kFuseAddRelu
                         ? !IsFloat(dtype)
                         : function == ScalarFunction::kRelu && dtype == DType::kBool;
  const bool wide = dtype == DType::kInt32 || dtype == DType::kInt64;
  const bool common = dtype == DType::kFloat32 || dtype == DType::kFloat16 || wide;
  const bool rich = emitter.rich() && dtype != DType::kBFloat16;  // no program computes in BFloat16
  if ((rich || common) && !lacks) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(RowOf(function).name, " of ", Name(dtype)));
}

// Indexed by ReduceMode.
constexpr const char* kReductions[] = {"ReduceSum", "ReduceSumSquare", "ReduceProd",
                                       "ReduceMin", "ReduceMax",       "ReduceMean"};
static_assert(std::size(kReductions) == static_cast<size_t>(ReduceMode::kMean) + 1);

// Returns a matrix, or a batch of them, with the last two dimensions swapped.
std::string Transposed(OnnxEmitter& emitter, int input) {
  std::vector<int64_t> perm(emitter.input_type(input).shape.rank());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return emitter.Add("Transpose", {emitter.input(input)}, {{"perm", perm}});
}

// Returns a comparison as numbers.
std::string Compared(OnnxEmitter& emitter, const char* type,
                     const std::vector<std::string>& inputs) {
  return emitter.Add("Cast", {emitter.Add(type, inputs)},
                     {{"to", int64_t{OnnxType(emitter.output_type().dtype)}}});
}

// x * (1 + gate) / 2
std::string Gated(OnnxEmitter& emitter, const std::string& x, const std::string& gate) {
  const std::string half = emitter.Add("Mul", {x, emitter.Scalar(0.5)});
  return emitter.Add("Mul", {half, emitter.Add("Add", {gate, emitter.Scalar(1)})});
}

// Compute, for floats, the remainder with the divisor's sign, and the truncated quotient.
std::string FloatMod(OnnxEmitter& emitter, const std::vector<std::string>& inputs) {
  const std::string rest = emitter.Add("Mod", inputs, {{"fmod", int64_t{1}}});
  const std::string zero = emitter.Scalar(0);
  const std::string some = emitter.Add("Not", {emitter.Add("Equal", {rest, zero})});
  const std::string other_side = emitter.Add(
      "Xor", {emitter.Add("Less", {rest, zero}), emitter.Add("Less", {inputs[1], zero})});
  const std::string moved = emitter.Add("Add", {rest, inputs[1]});
  return emitter.Add("Where", {emitter.Add("And", {some, other_side}), moved, rest});
}
std::string FloatTruncDiv(OnnxEmitter& emitter, const std::vector<std::string>& inputs) {
  const std::string quotient = emitter.Add("Div", inputs);
  const std::string size = emitter.Add("Floor", {emitter.Add("Abs", {quotient})});
  return emitter.Add("Mul", {emitter.Add("Sign", {quotient}), size});
}

}  // namespace

absl::StatusOr<std::string> OnnxScalarFunction(OnnxEmitter& emitter, const ElemwiseParam& param,
                                               const std::vector<std::string>& inputs) {
  const ScalarRow& row = RowOf(param.mode);
  const DType dtype = emitter.output_type().dtype;
  const bool flags = dtype == DType::kBool;
  if (flags && param.mode == ScalarFunction::kMul) return emitter.Add("And", inputs);
  if (flags && param.mode == ScalarFunction::kMax) return emitter.Add("Or", inputs);
  if (param.mode == ScalarFunction::kRelu && !IsFloat(dtype) && !IsQuantized(dtype)) {
    return emitter.Add("Max", {inputs[0], emitter.Scalar(0)});  // Relu is of floats in set 13
  }
  if (row.onnx != nullptr) {
    std::vector<OnnxAttribute> attributes;
    for (int i = 0; i < row.num_parameters; ++i) {
      attributes.push_back({row.parameters[i], static_cast<float>(param.parameters[i])});
    }
    return emitter.Add(row.onnx, inputs, attributes);
  }
  if (row.adds) {
    return OnnxScalarFunction(emitter, {row.of_sum}, {emitter.Add("Add", inputs)});
  }
  // Functions that need several ONNX operators, or whose parameters are inputs there.
  const bool floats = IsFloat(emitter.output_type().dtype);
  switch (param.mode) {
    case ScalarFunction::kClamp:
      return emitter.Add("Clip", {inputs[0], emitter.Scalar(param.parameters[0]),
                                  emitter.Scalar(param.parameters[1])});
    case ScalarFunction::kHSwish: {
      const std::string gate =
          emitter.Add("HardSigmoid", inputs, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
      return emitter.Add("Mul", {inputs[0], gate});
    }
    case ScalarFunction::kFuseMulAdd3:
      return emitter.Add("Add", {emitter.Add("Mul", {inputs[0], inputs[1]}), inputs[2]});
    case ScalarFunction::kTruncDiv:
      return floats ? FloatTruncDiv(emitter, inputs) : emitter.Add("Div", inputs);
    case ScalarFunction::kMod:
      return floats ? FloatMod(emitter, inputs) : emitter.Add("Mod", inputs);
    case ScalarFunction::kFmod:
      return emitter.Add("Mod", inputs, {{"fmod", int64_t{1}}});
    case ScalarFunction::kEqual:
      return Compared(emitter, "Equal", inputs);
    case ScalarFunction::kLess:
      return Compared(emitter, "Less", inputs);
    case ScalarFunction::kLessOrEqual:
      return Compared(emitter, "LessOrEqual", inputs);
    case ScalarFunction::kSelect: {
      const std::string condition =
          emitter.Add("Cast", {inputs[0]}, {{"to", int64_t{OnnxType(DType::kBool)}}});
      return emitter.Add("Where", {condition, inputs[1], inputs[2]});
    }
    case ScalarFunction::kSilu:
      return emitter.Add("Mul", {inputs[0], emitter.Add("Sigmoid", inputs)});
    case ScalarFunction::kGelu: {
      const std::string scaled =
          emitter.Add("Mul", {inputs[0], emitter.Scalar(0.70710678118654752)});
      return Gated(emitter, inputs[0], emitter.Add("Erf", {scaled}));
    }
    case ScalarFunction::kGeluTanh: {
      const std::string cube =
          emitter.Add("Mul", {inputs[0], emitter.Add("Mul", {inputs[0], inputs[0]})});
      const std::string sum =
          emitter.Add("Add", {inputs[0], emitter.Add("Mul", {cube, emitter.Scalar(0.044715)})});
      const std::string scaled = emitter.Add("Mul", {sum, emitter.Scalar(0.79788456080286536)});
      return Gated(emitter, inputs[0], emitter.Add("Tanh", {scaled}));
    }
    case ScalarFunction::kMish: {
      const std::string gate = emitter.Add("Tanh", {emitter.Add("Softplus", inputs)});
      return emitter.Add("Mul", {inputs[0], gate});
    }
    default:
      return absl::UnimplementedError(absl::StrCat("mode ", row.name));
  }
}

absl::StatusOr<OnnxValues> OnnxElemwise(OnnxEmitter& emitter) {
  const ElemwiseParam& param = emitter.op<Elemwise>().param();
  ASHLAR_RETURN_IF_ERROR(CheckElemwiseType(emitter, param.mode));
  std::vector<std::string> inputs;
  for (size_t i = 0; i < emitter.num_inputs(); ++i) inputs.push_back(emitter.input(i));
  // The slope of ONNX's broadcasts to the other input, not the reverse.
  if (param.mode == ScalarFunction::kPRelu &&
      emitter.input_type(0).shape != emitter.output_type().shape) {
    const std::string negative = emitter.Add("Less", {inputs[0], emitter.Scalar(0)});
    return emitter.Add("Where", {negative, emitter.Add("Mul", inputs), inputs[0]});
  }
  return OnnxScalarFunction(emitter, param, inputs);
}

// H_SWISH needs one ONNX operator: several would round in between, or not at all.
absl::StatusOr<OnnxValues> OnnxElemwiseMultiType(OnnxEmitter& emitter) {
  if (!emitter.op<ElemwiseMultiType>().param().table.empty()) {
    return absl::UnimplementedError("a table of 8-bit integers");
  }
  const ElemwiseParam& param = emitter.op<ElemwiseMultiType>().param();
  if (param.mode == ScalarFunction::kHSwish) {
    if (!emitter.rich()) return absl::UnimplementedError("H_SWISH of a quantised tensor");
    return emitter.Add("HardSwish", {emitter.input(0)});
  }
  std::vector<std::string> inputs;
  for (size_t i = 0; i < emitter.num_inputs(); ++i)
    inputs.push_back(emitter.input(static_cast<int>(i)));
  return OnnxScalarFunction(emitter, param, inputs);
}

// Inputs must have one dtype, except for powers.
absl::StatusOr<OnnxValues> OnnxIntegerElemwise(OnnxEmitter& emitter) {
  const IntegerFunction mode = emitter.op<IntegerElemwise>().param().mode;
  const DType dtype = emitter.output_type().dtype, other = emitter.input_type(1).dtype;
  const std::vector<std::string> inputs = {emitter.input(0), emitter.input(1)};
  const bool shift = mode == IntegerFunction::kShiftLeft || mode == IntegerFunction::kShiftRight;
  const bool pow = mode == IntegerFunction::kPow;
  const bool wide = SizeOf(dtype) >= 4 && SizeOf(other) >= 4;
  constexpr const char* kArithmetic[] = {"Add", "Sub", "Mul"};
  if (!emitter.rich()) return absl::UnimplementedError("no counterpart");
  const bool of_signed = shift && !IsUnsigned(dtype);
  if ((pow ? !wide : other != dtype) || of_signed) {
    return absl::UnimplementedError(absl::StrCat(
        kIntegerFunctionNames[static_cast<size_t>(mode)], " of ", Name(dtype), " and ", Name(other),
        of_signed ? absl::StrCat(": before operator set 28 BitShift is of unsigned integers, and ",
                                 kRichestOnnxSet, " is written")
                  : ""));
  }
  if (pow) return emitter.Add("Pow", inputs);
  if (mode > IntegerFunction::kPow) {
    const int sum = static_cast<int>(IntegerFunction::kAdd);
    return emitter.Add(kArithmetic[static_cast<int>(mode) - sum], inputs);
  }
  if (!shift) {
    constexpr const char* kTypes[] = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    return emitter.Add(kTypes[static_cast<size_t>(mode)], inputs);
  }
  const char* const direction = mode == IntegerFunction::kShiftLeft ? "LEFT" : "RIGHT";
  return emitter.Add("BitShift", inputs, {{"direction", direction}});
}

absl::StatusOr<OnnxValues> OnnxMatrixMul(OnnxEmitter& emitter) {
  const MatrixMulParam& param = emitter.op<MatrixMul>().param();
  if (emitter.input_type(0).shape.rank() == 2 && emitter.input_type(1).shape.rank() == 2) {
    return emitter.Add(
        "Gemm", {emitter.InputOfFilter(), emitter.input(1)},
        {{"transA", int64_t{param.transposeA}}, {"transB", int64_t{param.transposeB}}});
  }
  const std::string a = param.transposeA ? Transposed(emitter, 0) : emitter.InputOfFilter();
  const std::string b = param.transposeB ? Transposed(emitter, 1) : emitter.input(1);
  return emitter.Add("MatMul", {a, b});
}

absl::StatusOr<OnnxValues> OnnxReduce(OnnxEmitter& emitter) {
  const Shape& from = emitter.input_type(0).shape;
  const Shape& to = emitter.output_type().shape;
  const ReduceMode mode = emitter.op<Reduce>().param().mode;
  // The axes whose size changes; the output's shape may lack the leading ones.
  std::vector<int64_t> axes;
  const int missing = from.rank() - to.rank();
  for (int i = 0; i < from.rank(); ++i) {
    if (i < missing || from[i] != to[i - missing]) axes.push_back(i);
  }
  std::string value = emitter.input(0);
  if (!axes.empty() && (mode == ReduceMode::kSum || emitter.rich())) {  // axes are an input
    value = emitter.Add(kReductions[static_cast<size_t>(mode)], {value, emitter.Ints(axes)},
                        {{"keepdims", int64_t{1}}});
  } else if (!axes.empty()) {
    value = emitter.Add(kReductions[static_cast<size_t>(mode)], {value},
                        {{"axes", axes}, {"keepdims", int64_t{1}}});
  } else if (mode == ReduceMode::kSumSqr) {
    value = emitter.Add("Mul", {value, value});
  }
  if (missing == 0) return value;
  return emitter.Add("Reshape", {value, emitter.Ints({to.dims().begin(), to.dims().end()})});
}

absl::StatusOr<OnnxValues> OnnxSoftmax(OnnxEmitter& emitter) {
  std::string input = emitter.input(0);
  // In ONNX the output has the dtype of the input.
  const DType dtype = emitter.output_type().dtype;
  if (emitter.input_type(0).dtype != dtype) {
    input = emitter.Add("Cast", {input}, {{"to", int64_t{OnnxType(dtype)}}});
  }
  return emitter.Add("Softmax", {input}, {{"axis", emitter.op<Softmax>().param().axis}});
}

// For floats outside a dtype's range, Cast may return anything, while TypeCvt saturates.
absl::StatusOr<OnnxValues> OnnxTypeCvt(OnnxEmitter& emitter) {
  const DType stored = emitter.stored_input_type(0).dtype;
  const DType made = emitter.stored_output_type().dtype;
  const DType from = emitter.input_type(0).dtype, to = emitter.output_type().dtype;
  if (IsQuantized(stored) || IsQuantized(made)) {
    // Passes the same integers, or converts through the Float32 that surrounds every node.
    OnnxValues values(StoredAs(stored) == StoredAs(made) ? emitter.StoredInput()
                                                         : emitter.input(0));
    values.stored = StoredAs(stored) == StoredAs(made);
    if (!values.stored && from != to) {
      return OnnxValues(emitter.Add("Cast", {values[0]}, {{"to", int64_t{OnnxType(to)}}}));
    }
    return values;
  }
  std::string value = emitter.input(0);
  if (IsFloat(from) && IsInteger(to) && SizeOf(to) <= 2) {
    const double values = std::ldexp(1.0, static_cast<int>(8 * SizeOf(to)));
    const double least = IsUnsigned(to) ? 0 : -values / 2;
    const auto bound = [&](double number) {
      HostTensor scalar = HostTensor::Zeros(from, {});
      scalar.Set(0, number);
      return emitter.Tensor(scalar);
    };
    value = emitter.Add("Clip", {value, bound(least), bound(least + values - 1)});
  }
  return emitter.Add("Cast", {value}, {{"to", int64_t{OnnxType(emitter.output_type().dtype)}}});
}

}  // namespace ashlar

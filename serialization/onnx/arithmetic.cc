// Operators that compute with elements and matrices.
#include "graph/status.h"
#include "opr/axis.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/operators.h"

namespace ashlar {
namespace {

// Modes that are one or two ONNX nodes: `first` on the inputs, then `second` on its result.
struct ElemwiseRow {
  ElemwiseMode mode;
  const char* first;
  const char* second = nullptr;
};

constexpr ElemwiseRow kElemwiseRows[] = {
    {ElemwiseMode::kRelu, "Relu"},
    {ElemwiseMode::kExp, "Exp"},
    {ElemwiseMode::kLog, "Log"},
    {ElemwiseMode::kSqrt, "Sqrt"},
    {ElemwiseMode::kAbs, "Abs"},
    {ElemwiseMode::kNegate, "Neg"},
    {ElemwiseMode::kSigmoid, "Sigmoid"},
    {ElemwiseMode::kTanh, "Tanh"},
    {ElemwiseMode::kAdd, "Add"},
    {ElemwiseMode::kSub, "Sub"},
    {ElemwiseMode::kMul, "Mul"},
    {ElemwiseMode::kTrueDiv, "Div"},
    {ElemwiseMode::kMax, "Max"},
    {ElemwiseMode::kMin, "Min"},
    {ElemwiseMode::kPow, "Pow"},
    {ElemwiseMode::kFuseAddRelu, "Add", "Relu"},
    {ElemwiseMode::kFuseAddSigmoid, "Add", "Sigmoid"},
    {ElemwiseMode::kFuseAddTanh, "Add", "Tanh"},
};

// Operator set 13 has few integer operators, and no Relu among them.
absl::Status CheckElemwiseType(ElemwiseMode mode, DType dtype) {
  const bool relu = mode == ElemwiseMode::kRelu || mode == ElemwiseMode::kFuseAddRelu;
  const bool integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat16 || (integer && !relu)) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat(ElemwiseModeNames()[static_cast<size_t>(mode)], " of ", Name(dtype)));
}

const char* ReduceType(ReduceMode mode) {
  switch (mode) {
    case ReduceMode::kSum:
      return "ReduceSum";
    case ReduceMode::kSumSqr:
      return "ReduceSumSquare";
    case ReduceMode::kProduct:
      return "ReduceProd";
    case ReduceMode::kMin:
      return "ReduceMin";
    case ReduceMode::kMax:
      return "ReduceMax";
    case ReduceMode::kMean:
      return "ReduceMean";
  }
  return "";
}

// A matrix, or a batch of them, with the last two dimensions swapped.
std::string Transposed(OnnxEmitter& emitter, int input) {
  std::vector<int64_t> perm(emitter.input_type(input).shape.rank());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return emitter.Add("Transpose", {emitter.input(input)}, {{"perm", perm}});
}

}  // namespace

std::string OnnxClamp(OnnxEmitter& emitter, const std::string& x, double lo, double hi) {
  return emitter.Add("Clip", {x, emitter.Scalar(lo), emitter.Scalar(hi)});
}

std::string OnnxHSwish(OnnxEmitter& emitter, const std::string& x) {
  const std::string gate = emitter.Add("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  return emitter.Add("Mul", {x, gate});
}

absl::StatusOr<std::string> OnnxElemwise(OnnxEmitter& emitter) {
  const ElemwiseParam& param = emitter.op<Elemwise>().param();
  ASHLAR_RETURN_IF_ERROR(CheckElemwiseType(param.mode, emitter.output_type().dtype));
  if (param.mode == ElemwiseMode::kClamp) {
    return OnnxClamp(emitter, emitter.input(0), param.lo, param.hi);
  }
  if (param.mode == ElemwiseMode::kHSwish) return OnnxHSwish(emitter, emitter.input(0));
  if (param.mode == ElemwiseMode::kFuseMulAdd3) {
    const std::string product = emitter.Add("Mul", {emitter.input(0), emitter.input(1)});
    return emitter.Add("Add", {product, emitter.input(2)});
  }
  for (const ElemwiseRow& row : kElemwiseRows) {
    if (row.mode != param.mode) continue;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < emitter.num_inputs(); ++i) inputs.push_back(emitter.input(i));
    const std::string value = emitter.Add(row.first, inputs);
    return row.second == nullptr ? value : emitter.Add(row.second, {value});
  }
  return absl::UnimplementedError(
      absl::StrCat("mode ", ElemwiseModeNames()[static_cast<size_t>(param.mode)]));
}

absl::StatusOr<std::string> OnnxMatrixMul(OnnxEmitter& emitter) {
  const MatrixMulParam& param = emitter.op<MatrixMul>().param();
  if (emitter.input_type(0).shape.rank() == 2 && emitter.input_type(1).shape.rank() == 2) {
    return emitter.Add(
        "Gemm", {emitter.input(0), emitter.input(1)},
        {{"transA", int64_t{param.transposeA}}, {"transB", int64_t{param.transposeB}}});
  }
  const std::string a = param.transposeA ? Transposed(emitter, 0) : emitter.input(0);
  const std::string b = param.transposeB ? Transposed(emitter, 1) : emitter.input(1);
  return emitter.Add("MatMul", {a, b});
}

absl::StatusOr<std::string> OnnxReduce(OnnxEmitter& emitter) {
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
  if (!axes.empty() && mode == ReduceMode::kSum) {  // its axes became an input first
    value = emitter.Add("ReduceSum", {value, emitter.Ints(axes)}, {{"keepdims", int64_t{1}}});
  } else if (!axes.empty()) {
    value = emitter.Add(ReduceType(mode), {value}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  } else if (mode == ReduceMode::kSumSqr) {
    value = emitter.Add("Mul", {value, value});
  }
  if (missing == 0) return value;
  return emitter.Add("Reshape", {value, emitter.Ints({to.dims().begin(), to.dims().end()})});
}

absl::StatusOr<std::string> OnnxSoftmax(OnnxEmitter& emitter) {
  std::string input = emitter.input(0);
  // There the output has the dtype of the input.
  const DType dtype = emitter.output_type().dtype;
  if (emitter.input_type(0).dtype != dtype) {
    input = emitter.Add("Cast", {input}, {{"to", int64_t{OnnxType(dtype)}}});
  }
  return emitter.Add("Softmax", {input}, {{"axis", emitter.op<Softmax>().param().axis}});
}

absl::StatusOr<std::string> OnnxTypeCvt(OnnxEmitter& emitter) {
  return emitter.Add("Cast", {emitter.input(0)},
                     {{"to", int64_t{OnnxType(emitter.output_type().dtype)}}});
}

}  // namespace ashlar

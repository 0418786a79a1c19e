// Functions of single elements.
#include "graph/status.h"
#include "opr/elemwise.h"
#include "runtime/device/byte_functions.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/unary.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

// Returns a table lookup, for a function of one byte tensor.
absl::StatusOr<KernelList> TableKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk, WalkOver<1>(output, {input}));
  const auto shape = ShapeOver<ashlar_table8_shape>(walk);
  return OnlyKernel({ASHLAR_CODE_CALL(table8, shape, Input(0), Table(0), Output(0))},
                    {CodeTable::Of<uint8_t>(DType::kUint8, op.Table(input, output))});
}

absl::StatusOr<KernelList> SumKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType &a = request.inputs[0], &b = request.inputs[1], &output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const Walk<3> walk, WalkOver<2>(output, {a, b}));
  ashlar_add8_shape shape = {};
  shape.walk = walk.walk;
  shape.a = walk.strides[0];
  shape.b = walk.strides[1];
  shape.dst = walk.strides[2];
  shape.a_flip = FlipOf(a);
  shape.a_zero_point = ZeroPointOf(a);
  shape.b_flip = FlipOf(b);
  shape.b_zero_point = ZeroPointOf(b);
  shape.a_scale = a.quantization.scale();
  shape.b_scale = b.quantization.scale();
  shape.scale = output.quantization.scale();
  shape.fixed = FixedFactorsOf(op.FixedSum(request.inputs[0].quantization,
                                           request.inputs[1].quantization, output.quantization));
  const int32_t zero_point = output.quantization.zero_point();
  const bool rectified = op.param().rectifies();
  SetRounding(rectified ? zero_point : LeastOf(output.dtype), MostOf(output.dtype), zero_point,
              shape);
  return OnlyKernel({ASHLAR_CODE_CALL(add8, shape, Input(0), Input(1), Output(0))});
}

std::optional<int32_t> BinaryFunction(ScalarFunction mode) {
  switch (mode) {
    case ScalarFunction::kAdd:
      return ASHLAR_ADD;
    case ScalarFunction::kTrueDiv:
      return ASHLAR_DIVIDE;
    case ScalarFunction::kEqual:
      return ASHLAR_EQUAL;
    case ScalarFunction::kLess:
      return ASHLAR_LESS;
    case ScalarFunction::kLessOrEqual:
      return ASHLAR_LESS_OR_EQUAL;
    case ScalarFunction::kMax:
      return ASHLAR_MAXIMUM;
    case ScalarFunction::kMin:
      return ASHLAR_MINIMUM;
    case ScalarFunction::kMul:
      return ASHLAR_MULTIPLY;
    case ScalarFunction::kPRelu:
      return ASHLAR_PRELU;
    case ScalarFunction::kSub:
      return ASHLAR_SUBTRACT;
    default:
      return std::nullopt;
  }
}

// Returns the calls for a function of two tensors. Activations of a sum are calls of their own,
// except ReLU.
absl::StatusOr<KernelList> BinaryKernel(const ElemwiseParam& param, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  const ScalarRow& row = RowOf(param.mode);
  const std::optional<int32_t> function =
      row.adds ? std::optional<int32_t>(ASHLAR_ADD) : BinaryFunction(param.mode);
  if (!function.has_value()) {
    return absl::UnimplementedError(absl::StrCat("mode ", row.name, " of floats"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const Walk<3> walk,
                          WalkOver<2>(output, {request.inputs[0], request.inputs[1]}));
  const ElemwiseParam activation = {row.adds ? row.of_sum : ScalarFunction::kIdentity};
  const std::optional<Bounds> bounds = BoundsOf(activation);
  ashlar_binary_shape shape = {};
  shape.walk = walk.walk;
  shape.a = walk.strides[0];
  shape.b = walk.strides[1];
  shape.dst = walk.strides[2];
  shape.function = *function;
  shape.low = bounds.value_or(Bounds()).low;
  std::vector<CodeCall> calls = {ASHLAR_CODE_CALL(binary, shape, Input(0), Input(1), Output(0))};
  if (!bounds.has_value()) {
    ASHLAR_ASSIGN_OR_RETURN(CodeCall call, UnaryCall(activation, output, output, Output(0)));
    calls.push_back(std::move(call));
  }
  return OnlyKernel(std::move(calls));
}

absl::StatusOr<KernelList> TernaryKernel(const ElemwiseParam& param, const KernelRequest& request) {
  const bool selects = param.mode == ScalarFunction::kSelect;
  if (!selects && param.mode != ScalarFunction::kFuseMulAdd3) {
    return absl::UnimplementedError(absl::StrCat("mode ", RowOf(param.mode).name, " of floats"));
  }
  ASHLAR_ASSIGN_OR_RETURN(
      const Walk<4> walk,
      WalkOver<3>(request.outputs[0], {request.inputs[0], request.inputs[1], request.inputs[2]}));
  ashlar_ternary_shape shape = {};
  shape.walk = walk.walk;
  shape.a = walk.strides[0];
  shape.b = walk.strides[1];
  shape.c = walk.strides[2];
  shape.dst = walk.strides[3];
  shape.function = selects ? ASHLAR_SELECT : ASHLAR_MULTIPLY_ADD;
  return OnlyKernel({ASHLAR_CODE_CALL(ternary, shape, Input(0), Input(1), Input(2), Output(0))});
}

absl::StatusOr<KernelList> MakeElemwise(const Elemwise& op, const KernelRequest& request) {
  const int arity = Arity(op.param().mode);
  if (arity == 2) return BinaryKernel(op.param(), request);
  if (arity == 3) return TernaryKernel(op.param(), request);
  ASHLAR_ASSIGN_OR_RETURN(CodeCall call,
                          UnaryCall(op.param(), request.inputs[0], request.outputs[0], Input(0)));
  return OnlyKernel({std::move(call)});
}

}  // namespace

void RegisterElementwiseKernels(KernelRegistry& registry) {
  registry.Register<Elemwise>(MakeElemwise, {DType::kFloat32});
  RegisterByteFunctions(registry, TableKernel, SumKernel);
}

}  // namespace ashlar::mcu

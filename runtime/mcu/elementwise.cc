// Functions of single elements.
#include "graph/status.h"
#include "opr/elemwise_multi_type.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

// Returns a table lookup, for a function of one byte tensor.
absl::StatusOr<KernelList> TableKernel(const ElemwiseMultiType& op, const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  std::vector<uint8_t> table(256);
  int32_t integer = LeastOf(input.dtype);
  for (const int32_t value : op.Table(input, output)) {
    table[static_cast<uint8_t>(integer++)] = static_cast<uint8_t>(value);
  }
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk, WalkOver<1>(output, {input}));
  const auto shape = ShapeOver<ashlar_table8_shape>(walk);
  return OnlyKernel({ASHLAR_CODE_CALL(table8, shape, Input(0), Table(0), Output(0))},
                    {CodeTable::Of<uint8_t>(DType::kUint8, table)});
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
  const int32_t zero_point = output.quantization.zero_point();
  const bool rectified = op.param().mode == ScalarFunction::kFuseAddRelu;
  SetRounding(rectified ? zero_point : LeastOf(output.dtype), MostOf(output.dtype), zero_point,
              shape);
  return OnlyKernel({ASHLAR_CODE_CALL(add8, shape, Input(0), Input(1), Output(0))});
}

absl::StatusOr<KernelList> MakeElemwiseMultiType(const ElemwiseMultiType& op,
                                                 const KernelRequest& request) {
  const ScalarFunction mode = op.param().mode;
  if (Arity(mode) == 1) return TableKernel(op, request);
  if (mode == ScalarFunction::kAdd || mode == ScalarFunction::kFuseAddRelu) {
    return SumKernel(op, request);
  }
  return absl::UnimplementedError(
      absl::StrCat("mode ", RowOf(mode).name, " of two quantised tensors"));
}

}  // namespace

void RegisterElementwiseKernels(KernelRegistry& registry) {
  registry.Register<ElemwiseMultiType>(MakeElemwiseMultiType,
                                       {DType::kQuantized8Asymm, DType::kQuantizedS8});
}

}  // namespace ashlar::mcu

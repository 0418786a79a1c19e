// TypeCvt.
#include "opr/type_cvt.h"

#include "graph/status.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/movement.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

bool IsInteger8(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kBool;
}

absl::StatusOr<KernelList> MakeTypeCvt(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  if (StoredAs(from.dtype) == StoredAs(to.dtype)) return CopyOf(request);
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk, WalkOver<1>(to, {from}));
  if (from.dtype == DType::kFloat32 && IsQuantizedBytes(to)) {
    auto shape = ShapeOver<ashlar_quantize8_shape>(walk);
    shape.scale = to.quantization.scale();
    SetRounding(to, shape);
    return OnlyKernel({ASHLAR_CODE_CALL(quantize8, shape, Input(0), Output(0))});
  }
  if (IsInteger8(from.dtype) && to.dtype == DType::kFloat32) {
    auto shape = ShapeOver<ashlar_dequantize8_shape>(walk);
    shape.src_flip = shape.src_zero_point = from.dtype == DType::kInt8 ? 0x80 : 0;
    shape.scale = 1;
    return OnlyKernel({ASHLAR_CODE_CALL(dequantize8, shape, Input(0), Output(0))});
  }
  if (IsQuantizedBytes(from) && to.dtype == DType::kFloat32) {
    auto shape = ShapeOver<ashlar_dequantize8_shape>(walk);
    shape.src_flip = FlipOf(from);
    shape.src_zero_point = ZeroPointOf(from);
    shape.scale = from.quantization.scale();
    return OnlyKernel({ASHLAR_CODE_CALL(dequantize8, shape, Input(0), Output(0))});
  }
  return absl::UnimplementedError(absl::StrCat("from ", from.ToString(), " to ", to.ToString()));
}

}  // namespace

void RegisterTypeCvtKernels(KernelRegistry& registry) { registry.Register<TypeCvt>(MakeTypeCvt); }

}  // namespace ashlar::mcu

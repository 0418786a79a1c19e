// Pooling.
#include "opr/pooling.h"

#include <utility>

#include "graph/status.h"
#include "opr/quantized_pooling.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"
#include "runtime/mcu/windows.h"

namespace ashlar::mcu {
namespace {

// Returns a shape with the fields that all windows have.
template <typename ShapeStruct>
ShapeStruct ShapeOf(const PoolingGeometry& g, const KernelRequest& request) {
  ShapeStruct shape = {};
  shape.batch = static_cast<int32_t>(g.batch);
  shape.channels = static_cast<int32_t>(g.channels);
  shape.h = AxisOf(g.h);
  shape.w = AxisOf(g.w);
  shape.src = StepsOf(request.inputs[0]);
  shape.dst = StepsOf(request.outputs[0]);
  return shape;
}

absl::StatusOr<KernelList> QuantizedPooling(const PoolingForward& op,
                                            const KernelRequest& request) {
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g, InferPooling(op.param(), src));
  if (op.param().mode == PoolingMode::kMax) {
    auto shape = ShapeOf<ashlar_max_pool8_shape>(g, request);
    shape.src_flip = FlipOf(src);
    return OnlyKernel({ASHLAR_CODE_CALL(max_pool8, shape, Input(0), Output(0))});
  }
  const PooledTypes types(op.param(), src.quantization, dst);
  auto shape = ShapeOf<ashlar_mean_pool8_shape>(g, request);
  shape.src_flip = FlipOf(src);
  shape.src_zero_point = ZeroPointOf(src);
  shape.factor = op.param().mode == PoolingMode::kAverage ? types.factor : 0;
  shape.src_scale = types.src_scale;
  shape.scale = types.scale;
  SetRounding(dst, shape);
  return OnlyKernel({ASHLAR_CODE_CALL(mean_pool8, shape, Input(0), Output(0))});
}

absl::StatusOr<KernelList> FloatPooling(const PoolingForward& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g, InferPooling(op.param(), request.inputs[0]));
  auto shape = ShapeOf<ashlar_pool_shape>(g, request);
  if (op.param().mode == PoolingMode::kAverage) {
    shape.count = static_cast<int32_t>(g.h.window * g.w.window);
  }
  CodeCall call = op.param().mode == PoolingMode::kMax
                      ? ASHLAR_CODE_CALL(max_pool, shape, Input(0), Output(0))
                      : ASHLAR_CODE_CALL(mean_pool, shape, Input(0), Output(0));
  call.shape_type = "ashlar_pool_shape";
  return OnlyKernel({std::move(call)});
}

absl::StatusOr<KernelList> MakePooling(const PoolingForward& op, const KernelRequest& request) {
  if (IsQuantizedBytes(request.inputs[0])) return QuantizedPooling(op, request);
  if (request.inputs[0].dtype == DType::kFloat32) return FloatPooling(op, request);
  return absl::UnimplementedError(absl::StrCat("pooling of ", request.inputs[0].ToString()));
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register<PoolingForward>(MakePooling);
}

}  // namespace ashlar::mcu

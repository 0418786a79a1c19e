// Pooling.
#include "opr/pooling.h"

#include <utility>

#include "graph/status.h"
#include "opr/pooling_rows.h"
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

absl::StatusOr<KernelList> MakePoolingRows(const PoolingRows& op, const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingRows::kStrip], &dst = request.outputs[0];
  const PoolingRowsParam& param = op.param();
  ashlar_pool_rows_shape strip = {};
  strip.batch = static_cast<int32_t>(src.shape[0]);
  strip.channels = static_cast<int32_t>(src.shape[1]);
  strip.rows = static_cast<int32_t>(src.shape[2]);
  strip.columns = static_cast<int32_t>(src.shape[3]);
  strip.src = StepsOf(src);
  strip.dst = StepsOf(dst);
  strip.maxima = param.mode == PoolingMode::kMax ? 1 : 0;
  strip.count = static_cast<int32_t>(param.rows * src.shape[3]);
  const CodeOperand before = request.inputs.size() > 1 ? Input(PoolingRows::kBefore) : NoOperand();
  if (src.dtype == DType::kFloat32) {
    return OnlyKernel({ASHLAR_CODE_CALL(pool_rows, strip, Input(0), before, Output(0))});
  }
  if (!IsQuantizedBytes(src)) {
    return absl::UnimplementedError(absl::StrCat("pooling of ", src.ToString()));
  }
  ashlar_pool_rows8_shape shape = {};
  shape.strip = strip;
  shape.src_flip = FlipOf(src);
  shape.src_zero_point = ZeroPointOf(src);
  shape.factor = param.mode == PoolingMode::kAverage ? 1 : 0;
  shape.src_scale = src.quantization.scale();
  if (IsQuantizedBytes(dst)) {
    const PooledTypes types(WholePooling(param, src), src.quantization, dst);
    if (strip.count > 0) shape.factor *= types.factor;
    shape.scale = types.scale;
    SetRounding(dst, shape);
  }
  return OnlyKernel({ASHLAR_CODE_CALL(pool_rows8, shape, Input(0), before, Output(0))});
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register<PoolingForward>(MakePooling);
  registry.Register<PoolingRows>(MakePoolingRows);
}

}  // namespace ashlar::mcu

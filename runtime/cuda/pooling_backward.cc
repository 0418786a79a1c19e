// PoolingBackward, PoolingIndex and PoolingIndexBackward.
#include "graph/status.h"
#include "opr/pooling_index.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pooling_backward_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

void SetShape(const PoolingGeometry& geometry, PoolShape& shape) {
  shape.h = StepsOf(geometry.h);
  shape.w = StepsOf(geometry.w);
  shape.out_h = geometry.h.output;
  shape.out_w = geometry.w.output;
}

absl::StatusOr<PoolBackwardParams> BackwardParams(const PoolingParam& param,
                                                  const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingBackward::kSrc],
                   &diff = request.inputs[PoolingBackward::kDiff], &dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, src));
  PoolBackwardParams params;
  SetShape(geometry, params);
  params.extents = ImageExtents(dst, 1);
  params.channels_last = dst.format == Format::kNHWC;
  params.dtype = ScalarOf(dst.dtype);
  params.kind = static_cast<PoolKind>(param.mode);
  params.src_steps = StepsOf(src);
  params.diff_steps = StepsOf(diff);
  params.dst_steps = StepsOf(dst);
  return params;
}

absl::StatusOr<KernelList> MakeBackward(const PoolingBackward& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const PoolBackwardParams params, BackwardParams(op.param(), request));
  return OnlyLaunch("pooling_backward", params,
                    [](PoolBackwardParams& bound, const KernelArgs& args) {
                      bound.src = args.inputs[PoolingBackward::kSrc];
                      bound.diff = args.inputs[PoolingBackward::kDiff];
                      bound.dst = args.outputs[0];
                    });
}

absl::StatusOr<KernelList> MakeIndexBackward(const PoolingIndexBackward& op,
                                             const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(PoolBackwardParams params, BackwardParams(op.param(), request));
  params.index_steps = StepsOf(request.inputs[PoolingIndexBackward::kIndex]);
  return OnlyLaunch("pooling_index_backward", params,
                    [](PoolBackwardParams& bound, const KernelArgs& args) {
                      bound.diff = args.inputs[PoolingIndexBackward::kDiff];
                      bound.index = args.Input<uint8_t>(PoolingIndexBackward::kIndex);
                      bound.dst = args.outputs[0];
                    });
}

absl::StatusOr<KernelList> MakeIndex(const PoolingIndex& op, const KernelRequest& request) {
  const TensorType& src = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(op.param(), src));
  PoolIndexParams params;
  SetShape(geometry, params);
  params.extents = ExtentsOf(request.outputs[0].shape);
  params.dtype = ScalarOf(src.dtype);
  params.src_steps = StepsOf(src);
  return OnlyLaunch("pooling_index", params, [](PoolIndexParams& bound, const KernelArgs& args) {
    bound.src = args.inputs[0];
    bound.index = args.Output<uint8_t>(0);
  });
}

}  // namespace

void RegisterPoolingBackwardKernels(KernelRegistry& registry, const LibraryKernels&) {
  std::vector<DType> with_index = kFloats;
  with_index.push_back(DType::kUint8);
  registry.Register<PoolingBackward>(MakeBackward, kFloats);
  registry.Register<PoolingIndex>(MakeIndex, kFloats);
  registry.Register<PoolingIndexBackward>(MakeIndexBackward, with_index);
}

}  // namespace ashlar::cuda

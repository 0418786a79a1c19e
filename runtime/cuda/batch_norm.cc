// BatchNorm.
#include "opr/batch_norm.h"

#include "graph/status.h"
#include "runtime/cuda/batch_norm_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeBatchNorm(const BatchNorm& op, const KernelRequest& request) {
  ASHLAR_RETURN_IF_ERROR(CheckSameFormat(request));
  const TensorType& x = request.inputs[BatchNorm::kX];
  BatchNormParams params;
  const int64_t channels = x.shape[1], pixels = x.shape.num_elements() / channels;
  params.extents =
      ExtentsOf(x.format == Format::kDefault ? Shape{x.shape[0], channels, pixels / x.shape[0]}
                                             : Shape{pixels, channels, 1});
  params.epsilon = static_cast<float>(op.param().epsilon);
  return OnlyLaunch("batch_norm", params, [](BatchNormParams& bound, const KernelArgs& args) {
    bound.in = args.Input<float>(BatchNorm::kX);
    bound.scale = args.Input<float>(BatchNorm::kScale);
    bound.bias = args.Input<float>(BatchNorm::kBias);
    bound.mean = args.Input<float>(BatchNorm::kMean);
    bound.variance = args.Input<float>(BatchNorm::kVariance);
    bound.out = args.Output<float>(0);
  });
}

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<BatchNorm>(MakeBatchNorm, {DType::kFloat32});
}

}  // namespace ashlar::cuda

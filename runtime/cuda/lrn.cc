// LRN.
#include "opr/lrn.h"

#include "graph/status.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/lrn_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeLrn(const LRN& op, const KernelRequest& request) {
  ASHLAR_RETURN_IF_ERROR(CheckSameFormat(request));
  const LRNParam& param = op.param();
  const TensorType& image = request.outputs[0];
  LrnParams params;
  params.extents = ImageExtents(image, 1);
  params.channels_last = image.format == Format::kNHWC;
  params.dtype = ScalarOf(image.dtype);
  params.channels = image.shape[1];
  params.before = (param.size - 1) / 2;
  params.after = param.size / 2;
  params.factor = static_cast<float>(param.alpha / static_cast<double>(param.size));
  params.bias = static_cast<float>(param.bias);
  params.beta = static_cast<float>(param.beta);
  params.steps = StepsOf(image);
  return OnlyLaunchOnFirst("lrn", params);
}

}  // namespace

void RegisterLrnKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<LRN>(MakeLrn, kFloats);
}

}  // namespace ashlar::cuda

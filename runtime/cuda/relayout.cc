// RelayoutFormat.
#include "opr/relayout_format.h"
#include "runtime/cuda/copy.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/transpose.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

// NCHW to NHWC and back are transposes of each image.
absl::StatusOr<KernelList> MakeRelayout(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  if (from.format == to.format) return PlainCopy(request);
  if (to.shape.num_elements() == 0) return NoLaunch();
  if (const std::optional<TransposeParams> transpose = TransposeOf(from, to)) {
    return TransposeKernel("transpose", *transpose);
  }
  return StridedCopy(request, 0, StridesOver(from, from.shape));
}

}  // namespace

void RegisterRelayoutKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<RelayoutFormat>(MakeRelayout);
}

}  // namespace ashlar::cuda

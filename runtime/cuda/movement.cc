// Operators that only move elements, if the plan did not turn them into views.
#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "opr/assign.h"
#include "opr/bit_cast.h"
#include "opr/dimshuffle.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "runtime/cuda/copy.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/movement_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeSubtensor(const Subtensor& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges, op.Ranges(request.infos()));
  StridedView view = ViewOf(ranges, StridesOver(request.inputs[0], request.inputs[0].shape));
  return StridedCopy(request, view.base, std::move(view.strides));
}

absl::StatusOr<KernelList> MakeDimshuffle(const Dimshuffle& op, const KernelRequest& request) {
  return StridedCopy(request, 0,
                     op.Permuted(StridesOver(request.inputs[0], request.inputs[0].shape)));
}

// The shape is known before the run.
absl::StatusOr<KernelList> MakeGetVarShape(const GetVarShape& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int32_t> dims, op.Dimensions(request.inputs[0].shape));
  WriteParams params;
  params.count = static_cast<int>(dims.size());
  if (params.count == 0) return NoLaunch();
  std::copy(dims.begin(), dims.end(), params.values);
  return OnlyLaunch("write", params, [](WriteParams& bound, const KernelArgs& args) {
    bound.out = args.Output<int32_t>(0);
  });
}

}  // namespace

void RegisterMovementKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<Assign>(PlainCopy);
  registry.Register<BitCast>(PlainCopy);
  registry.Register<Dimshuffle>(MakeDimshuffle);
  registry.Register<GetVarShape>(MakeGetVarShape);
  registry.Register<OutputCallback>(PlainCopy);
  registry.Register<Reshape>(PlainCopy);
  registry.Register<Subtensor>(MakeSubtensor);
}

}  // namespace ashlar::cuda

// CumSum.
#include "opr/cum_sum.h"

#include "graph/status.h"
#include "runtime/cuda/cum_sum_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

// The number of lines that keeps a device busy with one thread each, and the length below which a
// line is not worth a team.
constexpr int64_t kBusyLines = 8192, kShortLine = 64;

absl::StatusOr<KernelList> MakeCumSum(const CumSum& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, x.shape.rank()));
  if (x.shape.num_elements() == 0) return NoLaunch();
  const AxisView view = AroundAxis(x.shape, axis);
  CumSumParams params;
  params.extents = ExtentsOf({view.outer, view.inner});
  params.length = view.length;
  params.exclusive = op.param().exclusive;
  params.reverse = op.param().reverse;
  params.dtype = ScalarOf(x.dtype);
  params.teams = view.length > kShortLine && params.extents.elements < kBusyLines;
  return OnlyLaunchOnFirst(params.teams ? "cum_sum:teams" : "cum_sum", params);
}

}  // namespace

void RegisterCumSumKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<CumSum>(MakeCumSum, kComputed);
}

}  // namespace ashlar::cuda

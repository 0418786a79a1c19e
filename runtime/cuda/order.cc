// TopK.
#include <utility>

#include "graph/status.h"
#include "opr/top_k.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/order_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeTopK(const TopK& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, x.shape.rank()));
  if (request.outputs[0].shape.num_elements() == 0) return NoLaunch();
  const AxisView view = AroundAxis(x.shape, axis);
  TopKParams params;
  params.extents = ExtentsOf({view.outer, view.length, view.inner});
  params.dtype = ScalarOf(x.dtype);
  params.k = op.param().k;
  params.largest = op.param().largest;
  return OnlyLaunch("top_k", params, [](TopKParams& bound, const KernelArgs& args) {
    bound.in = args.inputs[0];
    bound.values = args.outputs[0];
    bound.indices = args.Output<int64_t>(1);
  });
}

}  // namespace

void RegisterOrderKernels(KernelRegistry& registry, const LibraryKernels&) {
  std::vector<DType> ordered = kFloats;
  ordered.insert(ordered.end(), kIntegers.begin(), kIntegers.end());
  registry.Register<TopK>(MakeTopK, std::move(ordered));
}

}  // namespace ashlar::cuda

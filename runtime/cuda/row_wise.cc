// Operators along rows: softmax.
#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/softmax.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/row_wise_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeSoftmax(const Softmax& op, const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, shape.rank()));
  SoftmaxParams params;
  params.length = shape[axis];
  params.step = ContiguousStrides(shape)[axis];
  params.rows = shape.num_elements() / params.length;
  params.from = ScalarOf(request.inputs[0].dtype);
  return OnlyLaunchOnFirst("softmax", params);
}

}  // namespace

void RegisterRowWiseKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<Softmax>(MakeSoftmax, kFloats);
}

}  // namespace ashlar::cuda

// Operators along an axis.
#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/softmax.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"

namespace ashlar::mcu {
namespace {

// Takes row-major tensors.
absl::StatusOr<KernelList> MakeSoftmax(const Softmax& op, const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, shape.rank()));
  ashlar_softmax_shape sizes = {1, static_cast<int32_t>(shape[axis]), 1};
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < axis) sizes.outer *= static_cast<int32_t>(shape[i]);
    if (i > axis) sizes.inner *= static_cast<int32_t>(shape[i]);
  }
  return OnlyKernel({ASHLAR_CODE_CALL(softmax, sizes, Input(0), Output(0))});
}

}  // namespace

void RegisterRowWiseKernels(KernelRegistry& registry) {
  registry.Register<Softmax>(MakeSoftmax, {DType::kFloat32});
}

}  // namespace ashlar::mcu

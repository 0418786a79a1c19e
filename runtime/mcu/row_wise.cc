// Operators along an axis.
#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/reduce.h"
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

std::optional<int32_t> ReduceFunction(ReduceMode mode) {
  switch (mode) {
    case ReduceMode::kSum:
    case ReduceMode::kMean:
      return ASHLAR_SUM;
    case ReduceMode::kSumSqr:
      return ASHLAR_SUM_OF_SQUARES;
    case ReduceMode::kMin:
      return ASHLAR_LEAST;
    case ReduceMode::kMax:
      return ASHLAR_GREATEST;
    default:
      return std::nullopt;
  }
}

// Takes row-major tensors, and reduces adjacent axes.
absl::StatusOr<KernelList> MakeReduce(const Reduce& op, const KernelRequest& request) {
  const Shape &from = request.inputs[0].shape, &to = request.outputs[0].shape;
  const std::optional<int32_t> function = ReduceFunction(op.param().mode);
  if (!function.has_value()) return absl::UnimplementedError("mode PRODUCT");
  ashlar_reduce_shape shape = {1, 1, 1, *function, 1};
  for (int i = 0; i < from.rank(); ++i) {
    const int in_output = i - (from.rank() - to.rank());
    const auto size = static_cast<int32_t>(from[i]);
    const bool reduced = in_output < 0 || to[in_output] != from[i];
    if (reduced && shape.inner > 1) {
      return absl::UnimplementedError(
          absl::StrCat("from ", from.ToString(), " to ", to.ToString(), ": axes between others"));
    }
    int32_t& product = reduced ? shape.axis : shape.axis > 1 ? shape.inner : shape.outer;
    product *= size;
  }
  if (shape.axis == 0) return absl::UnimplementedError("reduction of no elements");
  if (op.param().mode == ReduceMode::kMean) shape.count = static_cast<float>(shape.axis);
  return OnlyKernel({ASHLAR_CODE_CALL(reduce, shape, Input(0), Output(0))});
}

}  // namespace

void RegisterRowWiseKernels(KernelRegistry& registry) {
  registry.Register<Reduce>(MakeReduce, {DType::kFloat32});
  registry.Register<Softmax>(MakeSoftmax, {DType::kFloat32});
}

}  // namespace ashlar::mcu

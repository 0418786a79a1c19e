// Operators that move elements and compute nothing: those that the plan did not make views.
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "opr/dimshuffle.h"
#include "opr/subtensor.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"

namespace ashlar {
namespace {

// The elements lie in the same order: Reshape, OutputCallback.
absl::StatusOr<KernelList> MakePlainCopy(const KernelRequest& request) {
  const int64_t bytes = request.inputs[0].bytes();
  const int threads = request.threads;
  return OnlyKernel("copy", [=](const KernelArgs& args) {
    CopyBytes(args.outputs[0], args.inputs[0], bytes, threads);
  });
}

// Output 0 is row-major; `strides` walk the input, from element `base` on, in its order.
KernelList StridedCopy(const KernelRequest& request, int64_t base, Strides strides) {
  const TensorType& output = request.outputs[0];
  RowLoop<2> loop;
  loop.shape = output.shape;
  loop.strides = {ContiguousStrides(output.shape), std::move(strides)};
  loop.base = {0, base};
  PrepareRowLoop(loop, request.threads);
  const int64_t element = SizeOf(output.dtype);
  const int threads = request.threads;
  return OnlyKernel("copy:strided", [=, loops = std::vector{loop}](const KernelArgs& args) {
    CopyElements(loops, threads, element, args.outputs[0], args.inputs[0]);
  });
}

absl::StatusOr<KernelList> MakeSubtensor(const KernelRequest& request) {
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    infos.push_back({request.inputs[i], request.host_values[i]});
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges,
                          static_cast<const Subtensor&>(*request.op).Ranges(infos));
  const Strides input = ContiguousStrides(request.inputs[0].shape);
  int64_t base = 0;
  Strides strides;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    base += ranges[axis].start * input[axis];
    if (!ranges[axis].dropped) strides.push_back(ranges[axis].step * input[axis]);
  }
  return StridedCopy(request, base, std::move(strides));
}

absl::StatusOr<KernelList> MakeDimshuffle(const KernelRequest& request) {
  const Strides input = ContiguousStrides(request.inputs[0].shape);
  Strides strides;
  for (int64_t axis : static_cast<const Dimshuffle&>(*request.op).param().pattern) {
    strides.push_back(axis < 0 ? 0 : input[axis]);
  }
  return StridedCopy(request, 0, std::move(strides));
}

// A shape is known before the run.
absl::StatusOr<KernelList> MakeGetVarShape(const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> values,
                          request.op->Evaluate({HostTensor::ShapeOnly(request.inputs[0].dtype,
                                                                      request.inputs[0].shape)}));
  return OnlyKernel("copy", [value = values[0]](const KernelArgs& args) {
    std::memcpy(args.outputs[0], value.raw(), value.bytes());
  });
}

}  // namespace

void RegisterMovementKernels(KernelRegistry& registry) {
  registry.Register("Dimshuffle", MakeDimshuffle);
  registry.Register("GetVarShape", MakeGetVarShape);
  registry.Register("OutputCallback", MakePlainCopy);
  registry.Register("Reshape", MakePlainCopy);
  registry.Register("Subtensor", MakeSubtensor);
}

}  // namespace ashlar

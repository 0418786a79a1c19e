// Operators that move elements and compute nothing: those that the plan did not make views.
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "opr/dimshuffle.h"
#include "opr/subtensor.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/own_kernel.h"

namespace ashlar {
namespace {

// The elements lie in the same order: Reshape, OutputCallback, a relayout to the same format.
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

// From format to format. oneDNN transposes Float32 with generated code; its reference code is
// called "ref" or "simple".
absl::StatusOr<KernelList> MakeRelayout(const KernelRequest& request) {
  const TensorType input = request.inputs[0], output = request.outputs[0];
  if (input.format == output.format) return MakePlainCopy(request);
  KernelList kernels;
  if (input.dtype == DType::kFloat32 && input.shape.num_elements() > 0 &&
      OneDnnSupports(input.format) && OneDnnSupports(output.format)) {
    ASHLAR_RETURN_IF_ERROR(CallOneDnn("RelayoutFormat", [&] {
      const dnnl::reorder::primitive_desc pd(OneDnnEngine(), OneDnnDesc(input), OneDnnEngine(),
                                             OneDnnDesc(output), OneDnnAttributes(), true);
      if (!pd || !absl::StartsWith(pd.impl_info_str(), "jit")) return;
      kernels.push_back(std::make_unique<OneDnnKernel>(
          pd, std::vector<OneDnnArgument>{OneDnnInput(DNNL_ARG_FROM, 0, pd.src_desc()),
                                          OneDnnOutput(DNNL_ARG_TO, 0, pd.dst_desc())}));
    }));
  }
  const auto loops = LoopsOver<2>(output, {input}, request.threads);
  const int threads = request.threads;
  kernels.push_back(std::make_unique<OwnKernel>(
      "copy:relayout",
      [=](const KernelArgs& args) {
        CopyElements(loops, threads, SizeOf(output.dtype), args.outputs[0], args.inputs[0]);
        ZeroChannelPadding(output, args.outputs[0]);
      },
      0, kernels.empty() ? 1.0 : 6.0));
  return kernels;
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
  registry.Register("RelayoutFormat", MakeRelayout);
  registry.Register("Reshape", MakePlainCopy);
  registry.Register("Subtensor", MakeSubtensor);
}

}  // namespace ashlar

// Operators that move elements and compute nothing: those that the plan did not make views.
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/subtensor.h"
#include "runtime/cuda/copies.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/transposes.h"
#include "runtime/cuda/walks.h"

namespace ashlar::cuda {
namespace {

// The elements lie in the same order: Reshape, OutputCallback, a relayout to the same format.
absl::StatusOr<KernelList> MakePlainCopy(const KernelRequest& request) {
  const int64_t bytes = request.inputs[0].bytes();
  if (bytes == 0) return NoLaunch();
  return OnlyLaunch("copy", [bytes](const KernelArgs& args, void* stream) {
    return CopyBytes(args.outputs[0], args.inputs[0], bytes, stream);
  });
}

// Copies input i by part i; as many launches as the parts need.
KernelList CopyParts(std::string name, std::vector<CopyPart> parts, DType dtype) {
  const std::vector<CopyParams> launches = MakeCopies(std::move(parts), dtype);
  return OnlyLaunch(std::move(name), [launches](const KernelArgs& args, void* stream) {
    for (size_t l = 0; l < launches.size(); ++l) {
      CopyParams bound = launches[l];
      for (int i = 0; i < bound.parts; ++i) bound.in[i] = args.inputs[l * kMaxParts + i];
      bound.out = args.outputs[0];
      if (LaunchError error = Launch(bound, stream); error != nullptr) return error;
    }
    return LaunchError(nullptr);
  });
}

KernelList StridedCopy(const KernelRequest& request, int64_t base, Strides strides) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  CopyPart part{output.shape, {StridesOver(output, output.shape), std::move(strides)}, {0, base}};
  return CopyParts("copy:strided", {part}, output.dtype);
}

absl::StatusOr<KernelList> MakeSubtensor(const KernelRequest& request) {
  std::vector<InputInfo> infos;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    infos.push_back({request.inputs[i], request.host_values[i]});
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges,
                          static_cast<const Subtensor&>(*request.op).Ranges(infos));
  StridedView view = ViewOf(ranges, StridesOver(request.inputs[0], request.inputs[0].shape));
  return StridedCopy(request, view.base, std::move(view.strides));
}

absl::StatusOr<KernelList> MakeDimshuffle(const KernelRequest& request) {
  const Dimshuffle& op = static_cast<const Dimshuffle&>(*request.op);
  return StridedCopy(request, 0,
                     op.Permuted(StridesOver(request.inputs[0], request.inputs[0].shape)));
}

// NCHW to NHWC and back are transposes of each image.
absl::StatusOr<KernelList> MakeRelayout(const KernelRequest& request) {
  const TensorType &from = request.inputs[0], &to = request.outputs[0];
  if (from.format == to.format) return MakePlainCopy(request);
  if (to.shape.num_elements() == 0) return NoLaunch();
  if (const std::optional<TransposeParams> transpose = TransposeOf(from, to)) {
    return TransposeKernel("transpose", *transpose);
  }
  return StridedCopy(request, 0, StridesOver(from, from.shape));
}

// Inputs that the plan made in their place are left alone.
absl::StatusOr<KernelList> MakeConcat(const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(
      const int axis,
      NormalizeAxis(static_cast<const Concat&>(*request.op).param().axis, output.shape.rank()));
  const Strides strides = StridesOver(output, output.shape);
  std::vector<CopyPart> parts;
  std::vector<int> owners;
  int64_t start = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorType& input = request.inputs[i];
    if (input.shape.num_elements() > 0) {
      parts.push_back(
          {input.shape, {strides, StridesOver(input, input.shape)}, {start * strides[axis], 0}});
      owners.push_back(static_cast<int>(i));
    }
    start += input.shape[axis];
  }
  if (parts.empty()) return NoLaunch();
  std::vector<int64_t> places;  // first byte of each part in the output
  for (const CopyPart& part : parts) places.push_back(part.base[0] * SizeOf(output.dtype));
  const int element = WidenElements(parts, static_cast<int>(SizeOf(output.dtype)));
  std::vector<Walk<2>> walks;
  for (const CopyPart& part : parts) {
    walks.push_back(MakeWalk<2>(part.shape, part.strides));
    for (size_t k = 0; k < 2; ++k) walks.back().base[k] = part.base[k];
  }
  return OnlyLaunch("concat", [=](const KernelArgs& args, void* stream) -> LaunchError {
    CopyParams params;
    params.element = element;
    params.out = args.outputs[0];
    const auto flush = [&]() -> LaunchError {
      const LaunchError error = params.parts == 0 ? nullptr : Launch(params, stream);
      params.parts = 0;
      params.most_elements = 0;
      return error;
    };
    for (size_t i = 0; i < walks.size(); ++i) {
      const void* const in = args.inputs[owners[i]];
      if (in == static_cast<const char*>(args.outputs[0]) + places[i]) continue;
      params.in[params.parts] = in;
      params.walk[params.parts++] = walks[i];
      params.most_elements = std::max(params.most_elements, walks[i].extents.elements);
      if (params.parts < kMaxParts) continue;
      if (LaunchError error = flush(); error != nullptr) return error;
    }
    return flush();
  });
}

// A shape is known before the run.
absl::StatusOr<KernelList> MakeGetVarShape(const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> values,
                          request.op->Evaluate({HostTensor::ShapeOnly(request.inputs[0].dtype,
                                                                      request.inputs[0].shape)}));
  WriteParams params;
  params.count = static_cast<int>(values[0].num_elements());
  if (params.count == 0) return NoLaunch();
  std::memcpy(params.values, values[0].raw(), static_cast<size_t>(values[0].bytes()));
  return OnlyLaunch("write", [params](const KernelArgs& args, void* stream) {
    WriteParams bound = params;
    bound.out = static_cast<int32_t*>(args.outputs[0]);
    return Launch(bound, stream);
  });
}

}  // namespace

void RegisterMovementKernels(KernelRegistry& registry) {
  registry.Register("Concat", MakeConcat);
  registry.Register("Dimshuffle", MakeDimshuffle);
  registry.Register("GetVarShape", MakeGetVarShape);
  registry.Register("OutputCallback", MakePlainCopy);
  registry.Register("RelayoutFormat", MakeRelayout);
  registry.Register("Reshape", MakePlainCopy);
  registry.Register("Subtensor", MakeSubtensor);
}

}  // namespace ashlar::cuda

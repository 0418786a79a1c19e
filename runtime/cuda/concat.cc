// Concat.
#include "opr/concat.h"

#include <algorithm>
#include <vector>

#include "graph/status.h"
#include "runtime/cuda/copy.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

// Skips inputs that the plan has already placed in the output.
absl::StatusOr<KernelList> MakeConcat(const Concat& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, output.shape.rank()));
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

}  // namespace

void RegisterConcatKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<Concat>(MakeConcat);
}

}  // namespace ashlar::cuda

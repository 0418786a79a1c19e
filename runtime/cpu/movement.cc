// Operators that only move elements, if the plan did not turn them into views.
#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "opr/assign.h"
#include "opr/bit_cast.h"
#include "opr/dimshuffle.h"
#include "opr/expand.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/reshape.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/device/register_each.h"

namespace ashlar::cpu {
namespace {

// Copies elements in the same order: Assign, BitCast, Reshape, OutputCallback.
absl::StatusOr<KernelList> MakePlainCopy(const KernelRequest& request) {
  const int64_t bytes = request.inputs[0].bytes();
  const int threads = request.threads;
  return OnlyKernel("copy", [=](const KernelArgs& args) {
    CopyBytes(args.outputs[0], args.inputs[0], bytes, threads);
  });
}

// Returns a loop that copies a part of the input to `output` in memory order (row-major or NHWC).
// `strides` walk the input from element `base` on, by dimension of the output.
RowLoop<2> LoopTo(const TensorType& output, int64_t base, const Strides& strides, int threads) {
  const Strides target = StridesOver(output, output.shape, /*blocked=*/false);
  RowLoop<2> loop;
  for (const int axis : GridOf(output).order) {
    loop.shape.push_back(output.shape[axis]);
    loop.strides[0].push_back(target[axis]);
    loop.strides[1].push_back(strides[axis]);
  }
  loop.base = {0, base};
  PrepareRowLoop(loop, threads);
  return loop;
}

KernelList StridedCopy(const KernelRequest& request, int64_t base, const Strides& strides) {
  const TensorType& output = request.outputs[0];
  const int threads = request.threads;
  const int64_t element = SizeOf(output.dtype);
  return OnlyKernel(
      "copy:strided",
      [=, loops = std::vector{LoopTo(output, base, strides, threads)}](const KernelArgs& args) {
        CopyElements(loops, threads, element, args.outputs[0], args.inputs[0]);
      });
}

// Returns the strides of an input that is not blocked.
Strides StridesOfInput(const KernelRequest& request) {
  const TensorType& input = request.inputs[0];
  return StridesOver(input, input.shape, /*blocked=*/false);
}

// Copies a part of a blocked image, with all of its channels.
absl::StatusOr<KernelList> MakeBlockedSubtensor(const KernelRequest& request,
                                                const std::vector<AxisRange>& ranges) {
  const TensorType& input = request.inputs[0];
  const TensorType output = request.outputs[0];
  bool box =
      IsBlocked(input.format) && IsBlocked(output.format) && ranges[1].start % kChannelBlock == 0 &&
      (ranges[1].count % kChannelBlock == 0 || ranges[1].start + ranges[1].count == input.shape[1]);
  for (const AxisRange& range : ranges) box = box && range.step == 1 && !range.dropped;
  if (!box) {
    return absl::UnimplementedError(
        absl::StrCat("a part of ", input.ToString(), " that cuts blocks of channels"));
  }
  const auto strides = [](const TensorType& type) {
    const ImageStrides step = StridesOf(type);
    return Strides{step.n, step.c, step.h, step.w, 1};
  };
  RowLoop<2> loop;
  loop.shape = {output.shape[0], ChannelBlocks(output.shape[1]), output.shape[2], output.shape[3],
                kChannelBlock};
  loop.strides = {strides(output), strides(input)};
  const ImageStrides step = StridesOf(input);
  loop.base = {0, ranges[0].start * step.n + ranges[1].start / kChannelBlock * step.c +
                      ranges[2].start * step.h + ranges[3].start * step.w};
  PrepareRowLoop(loop, request.threads);
  const int64_t element = SizeOf(output.dtype);
  const int threads = request.threads;
  return OnlyKernel("copy:strided", [=, loops = std::vector{loop}](const KernelArgs& args) {
    CopyElements(loops, threads, element, args.outputs[0], args.inputs[0]);
  });
}

absl::StatusOr<KernelList> MakeSubtensor(const Subtensor& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges, op.Ranges(request.infos()));
  if (IsBlocked(request.inputs[0].format) || IsBlocked(request.outputs[0].format)) {
    return MakeBlockedSubtensor(request, ranges);
  }
  const StridedView view = ViewOf(ranges, StridesOfInput(request));
  return StridedCopy(request, view.base, view.strides);
}

absl::StatusOr<KernelList> MakeDimshuffle(const Dimshuffle& op, const KernelRequest& request) {
  return StridedCopy(request, 0, op.Permuted(StridesOfInput(request)));
}

absl::StatusOr<KernelList> MakeExpand(const KernelRequest& request) {
  return StridedCopy(request, 0,
                     BroadcastStrides(request.inputs[0].shape, request.outputs[0].shape));
}

// Copies each piece from its start in the input.
absl::StatusOr<KernelList> MakeSplit(const Split& op, const KernelRequest& request) {
  const TensorType& input = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, input.shape.rank()));
  const Strides strides = StridesOfInput(request);
  std::vector<std::vector<RowLoop<2>>> pieces;
  int64_t start = 0;
  for (const TensorType& output : request.outputs) {
    pieces.push_back({LoopTo(output, start * strides[axis], strides, request.threads)});
    start += output.shape[axis];
  }
  const int64_t element = SizeOf(input.dtype);
  const int threads = request.threads;
  return OnlyKernel("copy:strided", [=](const KernelArgs& args) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (args.outputs[i] == nullptr) continue;  // a view
      CopyElements(pieces[i], threads, element, args.outputs[i], args.inputs[0]);
    }
  });
}

// The shape is known before the run.
absl::StatusOr<KernelList> MakeGetVarShape(const GetVarShape& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int32_t> dims, op.Dimensions(request.inputs[0].shape));
  return OnlyKernel("copy", [dims](const KernelArgs& args) {
    std::copy(dims.begin(), dims.end(), args.Output<int32_t>(0));
  });
}

}  // namespace

void RegisterMovementKernels(KernelRegistry& registry) {
  registry.Register<Dimshuffle>(MakeDimshuffle, {}, ChannelsLast::kUnblocked);
  registry.Register<Expand>(MakeExpand);
  registry.Register<GetVarShape>(MakeGetVarShape);
  RegisterEach<Assign, BitCast, OutputCallback, Reshape>(registry, MakePlainCopy);
  registry.Register<Split>(MakeSplit);
  registry.Register<Subtensor>(MakeSubtensor);
}

}  // namespace ashlar::cpu

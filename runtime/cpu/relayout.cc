// RelayoutFormat: converts images to and from blocks of channels, at the borders of a network.
#include <algorithm>

#include "graph/status.h"
#include "opr/relayout_format.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRelayoutTile = 64;  // pixels; a block of so many stays in the first-level cache

// Copies `pixels` pixels of the first `channels` channels into a block. In the row-major image,
// channels are `plane` elements apart. The block's other channels become zero.
void IntoBlock(const float* from, int64_t plane, float* to, int64_t pixels, int64_t channels) {
  for (int64_t first = 0; first < pixels; first += kRelayoutTile) {
    const int64_t end = std::min(first + kRelayoutTile, pixels);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = first; p < end; ++p) to[p * kChannelBlock + c] = from[c * plane + p];
    }
    for (int64_t p = first; p < end; ++p) {
      for (int64_t c = channels; c < kChannelBlock; ++c) to[p * kChannelBlock + c] = 0;
    }
  }
}

void OutOfBlock(const float* from, int64_t plane, float* to, int64_t pixels, int64_t channels) {
  for (int64_t first = 0; first < pixels; first += kRelayoutTile) {
    const int64_t end = std::min(first + kRelayoutTile, pixels);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = first; p < end; ++p) to[c * plane + p] = from[p * kChannelBlock + c];
    }
  }
}

// Converts Float32 between row-major and either blocked format.
KernelList Transposition(const TensorType& input, const TensorType& output, int threads, Isa isa) {
  const bool into = IsBlocked(output.format);
  const TensorType& blocked = into ? output : input;
  const ImageStrides block = StridesOf(blocked), plane = StridesOf(into ? input : output);
  const int64_t images = input.shape[0], channels = input.shape[1];
  // Joins contiguous rows into one.
  int64_t rows = input.shape[2], pixels = input.shape[3];
  if (block.h == pixels * kChannelBlock) {
    pixels *= rows;
    rows = 1;
  }
  const int64_t blocks = ChannelBlocks(channels);
  const auto move = into ? Versions<IntoBlock>::For(isa) : Versions<OutOfBlock>::For(isa);
  return OnlyKernel("transpose", [=](const KernelArgs& args) {
    const float* const from = args.Input<float>(0);
    float* const to = args.Output<float>(0);
    const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (pixels * kChannelBlock));
    ParallelFor(threads, images * blocks * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / rows / blocks, b = i / rows % blocks, row = i % rows;
        const int64_t in_block = n * block.n + b * block.c + row * block.h;
        const int64_t in_plane = n * plane.n + b * kChannelBlock * plane.c + row * plane.h;
        move(from + (into ? in_plane : in_block), plane.c, to + (into ? in_block : in_plane),
             pixels, std::min(kChannelBlock, channels - b * kChannelBlock));
      }
    });
  });
}

absl::StatusOr<KernelList> MakeRelayout(const KernelRequest& request) {
  const TensorType input = request.inputs[0], output = request.outputs[0];
  const int threads = request.threads;
  if (input.format == output.format) {
    return OnlyKernel("copy", [=, bytes = input.bytes()](const KernelArgs& args) {
      CopyBytes(args.outputs[0], args.inputs[0], bytes, threads);
    });
  }
  const bool last = input.format == Format::kNHWC || output.format == Format::kNHWC;
  const bool transposes = IsBlocked(input.format) != IsBlocked(output.format) && !last;
  if (transposes && input.dtype == DType::kFloat32 && input.shape.num_elements() > 0) {
    return Transposition(input, output, threads, request.processor.isa);
  }
  const auto loops = LoopsOver<2>(output, {input}, threads);
  return OnlyKernel("copy:relayout", [=](const KernelArgs& args) {
    CopyElements(loops, threads, SizeOf(output.dtype), args.outputs[0], args.inputs[0]);
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

}  // namespace

void RegisterRelayoutKernels(KernelRegistry& registry) {
  registry.Register<RelayoutFormat>(MakeRelayout, {}, ChannelsLast::kAll);
}

}  // namespace ashlar::cpu

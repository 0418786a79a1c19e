// Pools quantised images channel by channel; threads share the rows of the output.
#include <algorithm>
#include <type_traits>

#include "graph/status.h"
#include "opr/quantized_pooling.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

struct PoolProblem {
  PoolingGeometry geometry;
  PooledTypes types;
  ImageStrides src, dst;
};

// Like ChannelsRow for maxima of few channels: first of rows, over all columns that some outputs
// read, then of columns. Returns false if the columns of one output are too many.
constexpr int64_t kFewChannels = 32;
template <typename Element>
bool FewChannelsRow(const PoolProblem& problem, const Element* image, Element* row,
                    const InsideTaps& rows) {
  constexpr int64_t kWidth = 4096;  // elements
  const int64_t channels = problem.geometry.channels;
  const WindowAxis& w = problem.geometry.w;
  Element tall[kWidth];
  for (int64_t next = 0; next < w.output;) {
    const int64_t begin = next;
    int64_t first = w.input, end = 0;  // a dilated window may begin before an earlier one
    for (; next < w.output; ++next) {
      const InsideTaps columns = w.Inside(next);
      const int64_t low = std::min(first, columns.begin), high = std::max(end, columns.end);
      if ((high - low) * channels > kWidth) break;
      first = low;
      end = high;
    }
    if (next == begin) return false;
    const int64_t width = std::max<int64_t>(0, end - first) * channels;
    std::fill_n(tall, width, static_cast<Element>(problem.types.least));
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      const Element* const from = image + y * problem.src.h + first * channels;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) tall[i] = from[i] > tall[i] ? from[i] : tall[i];
    }
    for (int64_t ow = begin; ow < next; ++ow) {
      const InsideTaps columns = w.Inside(ow);
      Element most[kFewChannels];
      std::fill_n(most, kFewChannels, static_cast<Element>(problem.types.least));
      for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
        const Element* const from = tall + (x - first) * channels;
        for (int64_t c = 0; c < channels; ++c) most[c] = from[c] > most[c] ? from[c] : most[c];
      }
      std::copy_n(most, channels, row + ow * problem.dst.w);
    }
  }
  return true;
}

// Like PooledWindow, if channels are adjacent.
template <typename Element, PoolingMode kMode>
void ChannelsRow(const PoolProblem& problem, int64_t n, int64_t oh, const void* src, void* dst) {
  constexpr int64_t kChannels = 64;  // channels at a time
  constexpr bool kMax = kMode == PoolingMode::kMax, kExact = kMode == PoolingMode::kAverage;
  using Joined = std::conditional_t<kMax, Element, std::conditional_t<kExact, int32_t, float>>;
  const PooledTypes& types = problem.types;
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  const auto* const image = static_cast<const Element*>(src) + n * problem.src.n;
  auto* const row = static_cast<Element*>(dst) + n * problem.dst.n + oh * problem.dst.h;
  const InsideTaps rows = h.Inside(oh);
  const auto rounding = RoundingBetween(types.least, types.most, types.zero_point);
  if constexpr (kMax) {
    const bool few =
        problem.geometry.channels <= kFewChannels && problem.src.w == problem.geometry.channels;
    if (few && FewChannelsRow(problem, image, row, rows)) return;
  }
  for (int64_t ow = 0; ow < w.output; ++ow) {
    const InsideTaps columns = w.Inside(ow);
    for (int64_t first = 0; first < problem.geometry.channels; first += kChannels) {
      const int64_t count = std::min(kChannels, problem.geometry.channels - first);
      Joined joined[kChannels];
      std::fill_n(joined, kChannels, static_cast<Joined>(kMax ? types.least : 0));
      const auto join = [&](const Element* pixel, int64_t channels) {
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          const int32_t steps = pixel[c] - types.src_zero_point;
          if constexpr (kMax) {
            joined[c] = pixel[c] > joined[c] ? pixel[c] : joined[c];
          } else if constexpr (kExact) {
            joined[c] += steps;
          } else {
            joined[c] += static_cast<float>(steps) * types.src_scale;
          }
        }
      };
      for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
        for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
          const Element* const pixel = image + y * problem.src.h + x * problem.src.w + first;
          count == kChannels ? join(pixel, kChannels) : join(pixel, count);
        }
      }
      Element* const to = row + ow * problem.dst.w + first;
      const float taps = static_cast<float>(rows.count() * columns.count());
      for (int64_t c = 0; c < count; ++c) {
        if constexpr (kMax) {
          to[c] = joined[c];
        } else {
          const float steps = kExact ? static_cast<float>(joined[c]) * types.factor
                                     : static_cast<float>(joined[c]) / taps / types.scale;
          to[c] = static_cast<Element>(Rounded(steps, rounding));
        }
      }
    }
  }
}

template <typename Element>
void PoolRow(const PoolProblem& problem, int64_t n, int64_t oh, const void* src, void* dst) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  const auto* const image = static_cast<const Element*>(src) + n * problem.src.n;
  auto* const row = static_cast<uint8_t*>(dst) + n * problem.dst.n + oh * problem.dst.h;
  const InsideTaps rows = h.Inside(oh);
  for (int64_t ow = 0; ow < w.output; ++ow) {
    const InsideTaps columns = w.Inside(ow);
    for (int64_t c = 0; c < problem.geometry.channels; ++c) {
      const auto element = [&](int64_t y, int64_t x) -> int32_t {
        return image[c * problem.src.c + y * problem.src.h + x * problem.src.w];
      };
      row[c * problem.dst.c + ow * problem.dst.w] =
          static_cast<uint8_t>(PooledWindow(problem.types, rows, columns, element));
    }
  }
}

template <typename Element>
auto PoolRowFor(const PoolingForward& op, const PoolProblem& problem, Isa isa) {
  if (problem.src.c != 1 || problem.dst.c != 1) return PoolRow<Element>;
  switch (op.param().mode) {
    case PoolingMode::kMax:
      return Versions<ChannelsRow<Element, PoolingMode::kMax>>::For(isa);
    case PoolingMode::kAverage:
      return Versions<ChannelsRow<Element, PoolingMode::kAverage>>::For(isa);
    default:
      return Versions<ChannelsRow<Element, PoolingMode::kAverageCountExcludePadding>>::For(isa);
  }
}

}  // namespace

absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request) {
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(op.param(), src));
  const PoolProblem problem = {geometry, PooledTypes(op.param(), src.quantization, dst),
                               StridesOf(src), StridesOf(dst)};
  const Isa isa = request.processor.isa;
  const auto pool_row = src.dtype == DType::kQuantizedS8 ? PoolRowFor<int8_t>(op, problem, isa)
                                                         : PoolRowFor<uint8_t>(op, problem, isa);
  const int64_t taps = geometry.w.output * geometry.channels * geometry.h.window *
                       std::min(geometry.w.window, geometry.w.input);
  const int64_t rows = geometry.h.output, grain = std::max<int64_t>(1, kElementsPerThread / taps);
  return OnlyKernel("int8:pooling", [=, threads = request.threads](const KernelArgs& args) {
    ParallelFor(threads, geometry.batch * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        pool_row(problem, i / rows, i % rows, args.inputs[0], args.outputs[0]);
      }
    });
  });
}

}  // namespace ashlar::cpu

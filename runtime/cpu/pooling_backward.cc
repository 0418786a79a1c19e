// PoolingBackward, PoolingIndexBackward and PoolingIndex. Adds the elements of diff, window by
// window, to the elements that receive their gradients. Threads share the planes; the windows of a
// plane overlap, so they are processed in order.
#include <algorithm>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/pooling_index.h"
#include "runtime/cpu/half_block.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

struct SpreadProblem {
  PoolingGeometry geometry;
  PoolingMode mode = PoolingMode::kMax;
  ImageLayout src, diff, dst;

  int64_t windows() const { return geometry.h.output * geometry.w.output; }
};

// A plane of one channel, or of a block of channels.
struct Plane {
  const float* src;  // null if only its shape is needed
  const float* diff;
  float* dst;
  const uint8_t* index;  // null: finds the maxima; one plane per channel
  int64_t channels;      // in the block
};

struct Window {
  InsideTaps rows, columns;

  // Calls visit(tap, offset of the pixel) in row-major order.
  template <typename Visit>
  [[gnu::always_inline]] void ForEachTap(const ImageLayout& layout, const Visit& visit) const {
    int32_t tap = 0;
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      for (int64_t x = columns.begin; x < columns.end; x += columns.step, ++tap) {
        visit(tap, y * layout.step.h + x * layout.block);
      }
    }
  }
};

// The indices of a window's first maxima, by channel of a block.
struct FirstMaxima {
  HalfOfIntegers half[2] = {};
};

void FindMaximumOfBlock(const ImageLayout& layout, const float* src, const Window& window,
                        FirstMaxima& maxima) {
  Half largest[2] = {};
  HalfOfIntegers* const first = maxima.half;
  window.ForEachTap(
      layout, [&](int32_t tap, int64_t offset) __attribute__((always_inline)) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const Half x = At(src + offset + half * kHalf), before = largest[half];
          const HalfOfIntegers taps = HalfOfIntegers{} + tap;
          if (tap == 0) {
            largest[half] = x;
            continue;
          }
          const HalfOfIntegers more =
              ~(x <= before) & (before == before);  // NaN counts as larger than numbers
          largest[half] = more ? x : before;
          first[half] = more ? taps : first[half];
        }
      });
}

void ReadMaximumOfBlock(const SpreadProblem& p, const Plane& plane, int64_t at,
                        FirstMaxima& maxima) {
  for (int64_t c = 0; c < plane.channels; ++c) {
    maxima.half[c / kHalf][c % kHalf] = plane.index[c * p.windows() + at];
  }
}

void SpreadMaximumOfBlock(const SpreadProblem& p, const Plane& plane, const Window& window,
                          const FirstMaxima& maxima, const float* diff) {
  const HalfOfIntegers* const first = maxima.half;
  const Half given[2] = {At(diff), At(diff + kHalf)};
  window.ForEachTap(
      p.dst, [&](int32_t tap, int64_t offset) __attribute__((always_inline)) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const HalfOfIntegers taps = HalfOfIntegers{} + tap;
          At(plane.dst + offset + half * kHalf) += first[half] == taps ? given[half] : Half{};
        }
      });
}

int32_t MaximumOfChannel(const ImageLayout& layout, const float* src, const Window& window) {
  float largest = 0;
  int32_t first = 0;
  window.ForEachTap(layout, [&](int32_t tap, int64_t offset) {
    const float x = src[offset];
    if (tap > 0 && (x <= largest || largest != largest)) return;
    largest = x;
    first = tap;
  });
  return first;
}

void SpreadMaximumOfChannel(const SpreadProblem& p, const Plane& plane, const Window& window,
                            int32_t first, const float* diff) {
  window.ForEachTap(p.dst, [&](int32_t tap, int64_t offset) {
    if (tap == first) plane.dst[offset] += *diff;
  });
}

template <int kLanes>
void SpreadMean(const SpreadProblem& p, const Plane& plane, const Window& window,
                const float* diff) {
  const PoolingGeometry& g = p.geometry;
  const bool whole = p.mode == PoolingMode::kAverage;
  const int64_t rows = whole ? g.h.window : window.rows.count();
  const int64_t columns = whole ? g.w.window : window.columns.count();
  const float divisor = static_cast<float>(rows) * static_cast<float>(columns);
  float share[kLanes];
  for (int l = 0; l < kLanes; ++l) share[l] = diff[l] / divisor;
  window.ForEachTap(
      p.dst, [&](int32_t, int64_t offset) __attribute__((always_inline)) {
        float* const to = plane.dst + offset;
#pragma omp simd
        for (int l = 0; l < kLanes; ++l) to[l] += share[l];
      });
}

template <int kLanes>
void SpreadPlane(const SpreadProblem& p, const Plane& plane) {
  const WindowAxis &h = p.geometry.h, &w = p.geometry.w;
  for (int64_t y = 0; y < h.input; ++y) {
    float* const row = plane.dst + y * p.dst.step.h;
    for (int64_t x = 0; x < w.input; ++x) {
      for (int l = 0; l < kLanes; ++l) row[x * p.dst.block + l] = 0.0f;
    }
  }
  for (int64_t y = 0; y < h.output; ++y) {
    const InsideTaps rows = h.Inside(y);
    const float* diff = plane.diff + y * p.diff.step.h;
    for (int64_t x = 0; x < w.output; ++x, diff += p.diff.block) {
      const Window window{rows, w.Inside(x)};
      const int64_t at = y * w.output + x;
      if (p.mode == PoolingMode::kMax && kLanes == kChannelBlock) {
        FirstMaxima first;
        if (plane.index != nullptr) {
          ReadMaximumOfBlock(p, plane, at, first);
        } else {
          FindMaximumOfBlock(p.src, plane.src, window, first);
        }
        SpreadMaximumOfBlock(p, plane, window, first, diff);
      } else if (p.mode == PoolingMode::kMax) {
        const int32_t first = plane.index != nullptr ? int32_t{plane.index[at]}
                                                     : MaximumOfChannel(p.src, plane.src, window);
        SpreadMaximumOfChannel(p, plane, window, first, diff);
      } else {
        SpreadMean<kLanes>(p, plane, window, diff);
      }
    }
  }
}

// A plane whose windows' first maxima are written as indices.
struct IndexedPlane {
  const float* src;
  uint8_t* index;
  int64_t channels;  // in the block
};

template <int kLanes>
void IndexPlane(const SpreadProblem& p, const IndexedPlane& plane) {
  const WindowAxis &h = p.geometry.h, &w = p.geometry.w;
  for (int64_t y = 0; y < h.output; ++y) {
    const InsideTaps rows = h.Inside(y);
    for (int64_t x = 0; x < w.output; ++x) {
      const Window window{rows, w.Inside(x)};
      uint8_t* const to = plane.index + y * w.output + x;
      if (kLanes == 1) {
        *to = static_cast<uint8_t>(MaximumOfChannel(p.src, plane.src, window));
        continue;
      }
      FirstMaxima first;
      FindMaximumOfBlock(p.src, plane.src, window, first);
      for (int64_t c = 0; c < plane.channels; ++c) {
        to[c * p.windows()] = static_cast<uint8_t>(first.half[c / kHalf][c % kHalf]);
      }
    }
  }
}

// Calls run(image, first channel, channels) for all planes of `lanes` channels, on several threads.
template <typename Run>
void ForEachPlane(const PoolingGeometry& g, int64_t lanes, int threads, const Run& run) {
  const int64_t planes = CeilDivide(g.channels, lanes);
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (g.h.input * g.w.input * lanes));
  ParallelFor(threads, g.batch * planes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t c = i % planes * lanes;
      run(i / planes, c, std::min(lanes, g.channels - c));
    }
  });
}

absl::StatusOr<KernelList> MakePoolingIndex(const PoolingIndex& op, const KernelRequest& request) {
  SpreadProblem problem;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferPooling(op.param(), request.inputs[0]));
  problem.src = ImageLayout(request.inputs[0]);
  const Isa isa = request.processor.isa;
  const bool blocks = problem.src.blocked();
  const auto run = blocks ? NarrowVersions<IndexPlane<kChannelBlock>>::For(isa)
                          : NarrowVersions<IndexPlane<1>>::For(isa);
  const int threads = request.threads;
  return OnlyKernel(absl::StrCat("pooling_index:", Name(isa)), [=](const KernelArgs& args) {
    const float* const x = args.Input<float>(0);
    uint8_t* const index = args.Output<uint8_t>(0);
    const PoolingGeometry& g = problem.geometry;
    ForEachPlane(g, blocks ? kChannelBlock : 1, threads,
                 [&](int64_t n, int64_t c, int64_t channels) {
                   run(problem, {x + problem.src.Offset(n, c),
                                 index + (n * g.channels + c) * problem.windows(), channels});
                 });
  });
}

absl::StatusOr<KernelList> MakeBackward(const PoolingParam& param, bool indexed,
                                        const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingBackward::kSrc], dst = request.outputs[0];
  const TensorType& diff = request.inputs[PoolingBackward::kDiff];
  SpreadProblem problem;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferPoolingBackward(param, src, diff));
  problem.mode = param.mode;
  problem.src = ImageLayout(src);
  problem.diff = ImageLayout(diff);
  problem.dst = ImageLayout(dst);
  const bool reads_src = problem.mode == PoolingMode::kMax && !indexed;
  const bool blocks =
      problem.diff.blocked() && problem.dst.blocked() && (problem.src.blocked() || !reads_src);
  const Isa isa = request.processor.isa;
  const auto spread = blocks ? NarrowVersions<SpreadPlane<kChannelBlock>>::For(isa)
                             : NarrowVersions<SpreadPlane<1>>::For(isa);
  const int threads = request.threads;
  const char* const name = indexed ? "pooling_index_grad:" : "pooling_grad:";
  return OnlyKernel(absl::StrCat(name, Name(isa)), [=](const KernelArgs& args) {
    const float* const x = args.Input<float>(PoolingBackward::kSrc);
    const float* const g = args.Input<float>(PoolingBackward::kDiff);
    const uint8_t* const index =
        indexed ? args.Input<uint8_t>(PoolingIndexBackward::kIndex) : nullptr;
    float* const y = args.Output<float>(0);
    const PoolingGeometry& geometry = problem.geometry;
    ForEachPlane(
        geometry, blocks ? kChannelBlock : 1, threads, [&](int64_t n, int64_t c, int64_t channels) {
          const int64_t planes = n * geometry.channels + c;
          spread(problem, {reads_src ? x + problem.src.Offset(n, c) : nullptr,
                           g + problem.diff.Offset(n, c), y + problem.dst.Offset(n, c),
                           indexed ? index + planes * problem.windows() : nullptr, channels});
        });
    if (!blocks) ZeroChannelPadding(dst, y);
  });
}

absl::StatusOr<KernelList> MakePoolingBackward(const PoolingBackward& op,
                                               const KernelRequest& request) {
  return MakeBackward(op.param(), /*indexed=*/false, request);
}

absl::StatusOr<KernelList> MakePoolingIndexBackward(const PoolingIndexBackward& op,
                                                    const KernelRequest& request) {
  return MakeBackward(op.param(), /*indexed=*/true, request);
}

}  // namespace

void RegisterPoolingBackwardKernels(KernelRegistry& registry) {
  registry.Register<PoolingBackward>(MakePoolingBackward, {DType::kFloat32});
  registry.Register<PoolingIndex>(MakePoolingIndex, {DType::kFloat32});
  registry.Register<PoolingIndexBackward>(MakePoolingIndexBackward,
                                          {DType::kFloat32, DType::kUint8});
}

}  // namespace ashlar::cpu

// PoolingBackward: the elements of diff, window by window, added to where their gradient goes. The
// threads share the planes; windows of a plane overlap, and are taken in their order.
#include "opr/pooling_backward.h"

#include <algorithm>

#include "graph/status.h"
#include "runtime/cpu/half_block.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int kBlock = static_cast<int>(kChannelBlock);

struct Problem {
  PoolingGeometry geometry;
  PoolingMode mode = PoolingMode::kMax;
  ImageLayout src, diff, dst;
};

// One plane: of one channel, or of a block of them.
struct Plane {
  const float* src;  // null where only its shape counts
  const float* diff;
  float* dst;
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

void SpreadMaximumOfBlock(const Problem& p, const Plane& plane, const Window& window,
                          const float* diff) {
  Half largest[2] = {};
  HalfOfIntegers first[2] = {};
  window.ForEachTap(
      p.src, [&](int32_t tap, int64_t offset) __attribute__((always_inline)) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const Half x = At(plane.src + offset + half * kHalf), before = largest[half];
          const HalfOfIntegers taps = HalfOfIntegers{} + tap;
          if (tap == 0) {
            largest[half] = x;
            continue;
          }
          const HalfOfIntegers more =
              ~(x <= before) & (before == before);  // NaN is more than numbers
          largest[half] = more ? x : before;
          first[half] = more ? taps : first[half];
        }
      });
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

void SpreadMaximumOfChannel(const Problem& p, const Plane& plane, const Window& window,
                            const float* diff) {
  float largest = 0;
  int32_t first = 0;
  window.ForEachTap(p.src, [&](int32_t tap, int64_t offset) {
    const float x = plane.src[offset];
    if (tap > 0 && (x <= largest || largest != largest)) return;
    largest = x;
    first = tap;
  });
  window.ForEachTap(p.dst, [&](int32_t tap, int64_t offset) {
    if (tap == first) plane.dst[offset] += *diff;
  });
}

template <int kLanes>
void SpreadMean(const Problem& p, const Plane& plane, const Window& window, const float* diff) {
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
void SpreadPlane(const Problem& p, const Plane& plane) {
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
      if (p.mode == PoolingMode::kMax && kLanes == kBlock) {
        SpreadMaximumOfBlock(p, plane, window, diff);
      } else if (p.mode == PoolingMode::kMax) {
        SpreadMaximumOfChannel(p, plane, window, diff);
      } else {
        SpreadMean<kLanes>(p, plane, window, diff);
      }
    }
  }
}

absl::StatusOr<KernelList> MakePoolingBackward(const PoolingBackward& op,
                                               const KernelRequest& request) {
  const TensorType &src = request.inputs[PoolingBackward::kSrc], dst = request.outputs[0];
  const TensorType& diff = request.inputs[PoolingBackward::kDiff];
  Problem problem;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferPoolingBackward(op.param(), src, diff));
  problem.mode = op.param().mode;
  problem.src = ImageLayout(src);
  problem.diff = ImageLayout(diff);
  problem.dst = ImageLayout(dst);
  const bool reads_src = problem.mode == PoolingMode::kMax;
  const bool blocks =
      problem.diff.blocked() && problem.dst.blocked() && (problem.src.blocked() || !reads_src);
  const Isa isa = request.processor.isa;
  const auto spread =
      blocks ? Versions<SpreadPlane<kBlock>>::For(isa) : Versions<SpreadPlane<1>>::For(isa);
  const int64_t channels = problem.geometry.channels, lanes = blocks ? kBlock : 1;
  const int64_t planes = (channels + lanes - 1) / lanes;
  const int64_t pixels = problem.geometry.h.input * problem.geometry.w.input;
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (pixels * lanes));
  const int threads = request.threads;
  return OnlyKernel(absl::StrCat("pooling_grad:", Name(isa)), [=](const KernelArgs& args) {
    const float* const x = static_cast<const float*>(args.inputs[PoolingBackward::kSrc]);
    const float* const g = static_cast<const float*>(args.inputs[PoolingBackward::kDiff]);
    float* const y = static_cast<float*>(args.outputs[0]);
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / planes, c = i % planes * lanes;
        spread(problem, {reads_src ? x + problem.src.Offset(n, c) : nullptr,
                         g + problem.diff.Offset(n, c), y + problem.dst.Offset(n, c)});
      }
    };
    ParallelFor(threads, problem.geometry.batch * planes, grain, run);
    if (!blocks) ZeroChannelPadding(dst, y);
  });
}

}  // namespace

void RegisterPoolingBackwardKernels(KernelRegistry& registry) {
  registry.Register<PoolingBackward>(MakePoolingBackward, {DType::kFloat32});
}

}  // namespace ashlar::cpu

// LRN, by rows of a channel if rows are contiguous, otherwise by blocks of channels.
#include "opr/lrn.h"

#include <algorithm>
#include <cmath>

#include "graph/status.h"
#include "opr/lrn_backward.h"
#include "runtime/cpu/doubles.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

// Pixels of a row-major plane processed together.
constexpr int64_t kPixels = 256;
// The same for a blocked image. All squares are written before any is summed: reading a recent
// store at another address would stall.
constexpr int64_t kGroup = 8;
// Limits for such blocked images: the number of channels, and the reach of the window to either
// side.
constexpr int64_t kMaxChannels = 512, kMaxReach = 8;

// The layout of the input or output images.
struct Side {
  int64_t lanes = 1;  // adjacent channels
  ImageStrides strides;

  // Returns the offset of a channel of a pixel, from the first pixel of its row.
  int64_t At(int64_t channel, int64_t pixel) const {
    return channel / lanes * strides.c + channel % lanes + pixel * strides.w;
  }
};

struct LrnProblem {
  // If planes are contiguous, each plane counts as one row.
  int64_t images = 0, rows = 1, channels = 0, pixels = 0;
  Side from, to;
  int64_t before = 0, after = 0;  // channels of the window before and after
  float bias = 0, factor = 0, exponent = 0;
};

// Computes y = x * base^exponent for `count` adjacent elements.
template <bool kThreeQuarters>
[[gnu::always_inline]] inline void Scale(const LrnProblem& problem, int64_t count, const float* x,
                                         const float* squares, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float base = problem.bias + problem.factor * squares[i];
    if constexpr (kThreeQuarters) {  // by far the most common, and cheaper with square roots
      const float root = std::sqrt(base);
      y[i] = x[i] / (root * std::sqrt(root));
    } else {
      y[i] = x[i] * powf(base, problem.exponent);
    }
  }
}

// Computes pixels [first, first + n) of all channels of a row-major image.
template <bool kThreeQuarters>
void RowMajor(const LrnProblem& problem, const float* x, float* y, int64_t first, int64_t n) {
  for (int64_t c = 0; c < problem.channels; ++c) {
    float squares[kPixels] = {};
    const int64_t end = std::min(c + problem.after + 1, problem.channels);
    for (int64_t i = std::max<int64_t>(c - problem.before, 0); i < end; ++i) {
      const float* const row = x + problem.from.At(i, first);
#pragma omp simd
      for (int64_t p = 0; p < n; ++p) squares[p] += row[p] * row[p];
    }
    Scale<kThreeQuarters>(problem, n, x + problem.from.At(c, first), squares,
                          y + problem.to.At(c, first));
  }
}

// Computes up to kGroup pixels of all channels of a blocked image or row.
template <bool kThreeQuarters>
void Blocked(const LrnProblem& problem, const float* x, float* y, int64_t first, int64_t n) {
  constexpr int64_t kB = kChannelBlock;
  const int64_t blocks = ChannelBlocks(problem.channels);
  const int64_t pitch = problem.from.strides.c, out_pitch = problem.to.strides.c;
  x += first * kB;
  y += first * kB;
  float squares[kGroup][kMaxReach + kMaxChannels + kMaxReach];
  for (int64_t p = 0; p < n; ++p) {
    float* const row = squares[p] + kMaxReach;
    std::fill(squares[p], row, 0.0f);
    std::fill_n(row + blocks * kB, kMaxReach, 0.0f);
    for (int64_t block = 0; block < blocks; ++block) {
      const float* const from = x + block * pitch + p * kB;
#pragma omp simd
      for (int64_t l = 0; l < kB; ++l) row[block * kB + l] = from[l] * from[l];
    }
  }
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t p = 0; p < n; ++p) {
      const float* const row = squares[p] + kMaxReach + block * kB;
      float sums[kB] = {};
      for (int64_t shift = -problem.before; shift <= problem.after; ++shift) {
#pragma omp simd
        for (int64_t l = 0; l < kB; ++l) sums[l] += row[l + shift];
      }
      float* const out = y + block * out_pitch + p * kB;
      Scale<kThreeQuarters>(problem, kB, x + block * pitch + p * kB, sums, out);
      std::fill(out + std::min(kB, problem.channels - block * kB), out + kB, 0.0f);
    }
  }
}

// The same for any number of channels, any window and any formats.
template <bool kThreeQuarters>
void AnyFormat(const LrnProblem& problem, const float* x, float* y, int64_t first, int64_t n) {
  constexpr int64_t kB = kChannelBlock;
  for (int64_t pixel = first; pixel < first + n; ++pixel) {
    for (int64_t begin = 0; begin < problem.channels; begin += kB) {
      const int64_t count = std::min(kB, problem.channels - begin);
      float values[kB] = {}, sums[kB] = {};
      for (int64_t l = 0; l < count; ++l) {
        values[l] = x[problem.from.At(begin + l, pixel)];
        const int64_t end = std::min(begin + l + problem.after + 1, problem.channels);
        for (int64_t i = std::max<int64_t>(begin + l - problem.before, 0); i < end; ++i) {
          const float value = x[problem.from.At(i, pixel)];
          sums[l] += value * value;
        }
      }
      Scale<kThreeQuarters>(problem, kB, values, sums, values);
      std::fill(values + count, values + kB, 0.0f);
      const int64_t stored = problem.to.lanes == kB ? kB : count;  // includes the padding channels
      for (int64_t l = 0; l < stored; ++l) y[problem.to.At(begin + l, pixel)] = values[l];
    }
  }
}

using ApplyFunction = void (*)(const LrnProblem&, const float*, float*, int64_t, int64_t);

template <bool kThreeQuarters>
ApplyFunction ApplyFor(const LrnProblem& problem, Isa isa) {
  if (problem.from.lanes == 1 && problem.to.lanes == 1) {
    return Versions<RowMajor<kThreeQuarters>>::For(isa);
  }
  const bool blocks = problem.from.lanes == kChannelBlock && problem.to.lanes == kChannelBlock;
  const bool fits =
      problem.channels <= kMaxChannels && problem.before <= kMaxReach && problem.after <= kMaxReach;
  return blocks && fits ? Versions<Blocked<kThreeQuarters>>::For(isa)
                        : Versions<AnyFormat<kThreeQuarters>>::For(isa);
}

absl::StatusOr<KernelList> MakeLrn(const LRN& op, const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kFloat64) return DoubleLrn(op, request);
  const LRNParam& param = op.param();
  const TensorType &x = request.inputs[0], &y = request.outputs[0];
  const auto side = [](const TensorType& type) {
    return Side{IsBlocked(type.format) ? kChannelBlock : 1, StridesOf(type)};
  };
  const bool in_rows = x.format == Format::kNHCW16c || y.format == Format::kNHCW16c;
  const bool planes = !IsBlocked(x.format) && !IsBlocked(y.format);
  LrnProblem problem;
  problem.images = x.shape[0];
  problem.rows = in_rows ? x.shape[2] : 1;
  problem.channels = x.shape[1];
  problem.pixels = x.shape[2] * x.shape[3] / problem.rows;
  problem.from = side(x);
  problem.to = side(y);
  problem.before = std::min((param.size - 1) / 2, problem.channels);
  problem.after = std::min(param.size / 2, problem.channels);
  problem.bias = static_cast<float>(param.bias);
  problem.factor = static_cast<float>(param.alpha / static_cast<double>(param.size));
  problem.exponent = static_cast<float>(-param.beta);
  const Isa isa = request.processor.isa;
  const ApplyFunction apply =
      param.beta == 0.75 ? ApplyFor<true>(problem, isa) : ApplyFor<false>(problem, isa);
  const int64_t step = planes ? kPixels : kGroup;
  const int64_t pieces = (problem.pixels + step - 1) / step;
  const int64_t grain =
      std::max<int64_t>(1, kElementsPerThread / (problem.channels * problem.before + 1) / step);
  const int threads = request.threads;
  return OnlyKernel(absl::StrCat("lrn:", Name(request.processor.isa)), [=](const KernelArgs& args) {
    const int64_t count = problem.images * problem.rows * pieces;
    ParallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * step, row = i / pieces % problem.rows;
        const auto offset = [&](const Side& side) {
          return i / pieces / problem.rows * side.strides.n + row * side.strides.h;
        };
        apply(problem, args.Input<float>(0) + offset(problem.from),
              args.Output<float>(0) + offset(problem.to), first,
              std::min(step, problem.pixels - first));
      }
    });
  });
}

// Computes the gradient of `lanes` (at most kBackwardLanes) adjacent pixels of a row-major image,
// whose channels are `plane` apart. `norm` and `terms` have a row of kBackwardLanes for each
// channel.
constexpr int64_t kBackwardLanes = 64;

struct BackwardProblem {
  int64_t channels = 0, plane = 0;
  int64_t before = 0, after = 0;  // channels of the window before and after its own
  double bias = 0, factor = 0, beta = 0;
};

void Backward(const BackwardProblem& p, const float* x, const float* diff, float* dx, int64_t lanes,
              float* norm, float* terms) {
  double sums[kBackwardLanes];
  for (int64_t c = 0; c < p.channels; ++c) {
    std::fill(sums, sums + lanes, 0.0);
    const int64_t last = std::min(c + p.after, p.channels - 1);
    for (int64_t k = std::max<int64_t>(c - p.before, 0); k <= last; ++k) {
      const float* const row = x + k * p.plane;
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) sums[l] += static_cast<double>(row[l]) * row[l];
    }
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      const float s = static_cast<float>(p.bias + p.factor * sums[l]);
      const float power = powf(s, static_cast<float>(-p.beta));
      norm[c * kBackwardLanes + l] = power;
      terms[c * kBackwardLanes + l] = diff[c * p.plane + l] * x[c * p.plane + l] * power / s;
    }
  }
  const double slope = 2 * p.factor * p.beta;
  for (int64_t c = 0; c < p.channels; ++c) {
    std::fill(sums, sums + lanes, 0.0);
    const int64_t last = std::min(c + p.before, p.channels - 1);
    for (int64_t k = std::max<int64_t>(c - p.after, 0); k <= last; ++k) {
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) sums[l] += terms[k * kBackwardLanes + l];
    }
    for (int64_t l = 0; l < lanes; ++l) {
      const int64_t at = c * p.plane + l;
      const double direct = static_cast<double>(diff[at]) * norm[c * kBackwardLanes + l];
      dx[at] = static_cast<float>(direct - slope * x[at] * sums[l]);
    }
  }
}

absl::StatusOr<KernelList> MakeLrnBackward(const LRNBackward& op, const KernelRequest& request) {
  const LRNParam& param = op.param();
  const Shape& shape = request.outputs[0].shape;
  BackwardProblem problem;
  problem.channels = shape[1];
  problem.plane = shape[2] * shape[3];
  problem.before = std::min((param.size - 1) / 2, problem.channels);
  problem.after = std::min(param.size / 2, problem.channels);
  problem.bias = param.bias;
  problem.factor = param.alpha / static_cast<double>(param.size);
  problem.beta = param.beta;
  const int threads = std::max(request.threads, 1);
  const int64_t groups = (problem.plane + kBackwardLanes - 1) / kBackwardLanes;
  const int64_t each = problem.channels * kBackwardLanes;  // of norm, and of terms
  const auto backward = Versions<Backward>::For(request.processor.isa);
  return OnlyKernel(
      absl::StrCat("lrn_grad:", Name(request.processor.isa)),
      [=, images = shape[0]](const KernelArgs& args) {
        ParallelPieces(threads, images * groups, [&](int64_t i, int thread) {
          const int64_t first = i % groups * kBackwardLanes;
          const int64_t offset = i / groups * problem.channels * problem.plane + first;
          float* const own = static_cast<float*>(args.workspace) + 2 * each * thread;
          backward(problem, args.Input<float>(LRNBackward::kX) + offset,
                   args.Input<float>(LRNBackward::kDiff) + offset, args.Output<float>(0) + offset,
                   std::min(kBackwardLanes, problem.plane - first), own, own + each);
        });
      },
      2 * each * threads * int64_t{sizeof(float)});
}

}  // namespace

void RegisterLrnKernels(KernelRegistry& registry) {
  registry.Register<LRN>(MakeLrn, {DType::kFloat32, DType::kFloat64});
  registry.Register<LRNBackward>(MakeLrnBackward, {DType::kFloat32});
}

}  // namespace ashlar::cpu

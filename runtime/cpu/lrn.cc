// LRN: our own loops; oneDNN's generated code for row-major images.
#include "opr/lrn.h"

#include <algorithm>
#include <cmath>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

// Pixels of a row-major plane that are worked on together.
constexpr int64_t kPixels = 256;
// The same of a blocked image. Their squares are written first and summed then: what was just
// written cannot be read yet at other addresses without a delay.
constexpr int64_t kGroup = 8;
// Of a blocked image whose squares are kept that way; and of its window, to either side.
constexpr int64_t kMaxChannels = 512, kMaxReach = 8;

// Where the elements of one side's images lie.
struct Side {
  int64_t lanes = 1;  // channels that lie together
  ImageStrides strides;

  // Of a channel of a pixel of a row, from that row's first one on.
  int64_t At(int64_t channel, int64_t pixel) const {
    return channel / lanes * strides.c + channel % lanes + pixel * strides.w;
  }
};

struct Problem {
  // Rows are planes where those are contiguous.
  int64_t images = 0, rows = 1, channels = 0, pixels = 0;
  Side from, to;
  int64_t before = 0, after = 0;  // channels of the window on both sides
  float bias = 0, factor = 0, exponent = 0;
};

// Pixels [first, first + n) of all channels of a row-major image.
void RowMajor(const Problem& problem, const float* x, float* y, int64_t first, int64_t n) {
  for (int64_t c = 0; c < problem.channels; ++c) {
    float squares[kPixels] = {};
    const int64_t end = std::min(c + problem.after + 1, problem.channels);
    for (int64_t i = std::max<int64_t>(c - problem.before, 0); i < end; ++i) {
      const float* const row = x + problem.from.At(i, first);
#pragma omp simd
      for (int64_t p = 0; p < n; ++p) squares[p] += row[p] * row[p];
    }
    const float* const row = x + problem.from.At(c, first);
    float* const out = y + problem.to.At(c, first);
#pragma omp simd
    for (int64_t p = 0; p < n; ++p) {
      out[p] = row[p] * powf(problem.bias + problem.factor * squares[p], problem.exponent);
    }
  }
}

// y = x * base^exponent, for the channels of a block.
template <bool kThreeQuarters>
void Scale(const Problem& problem, const float* x, const float* squares, float* y) {
#pragma omp simd
  for (int64_t l = 0; l < kChannelBlock; ++l) {
    const float base = problem.bias + problem.factor * squares[l];
    if constexpr (kThreeQuarters) {  // by far the most common, and cheaper by roots
      const float root = std::sqrt(base);
      y[l] = x[l] / (root * std::sqrt(root));
    } else {
      y[l] = x[l] * powf(base, problem.exponent);
    }
  }
}

// Up to kGroup pixels of all channels of a blocked image or row.
template <bool kThreeQuarters>
void Blocked(const Problem& problem, const float* x, float* y, int64_t first, int64_t n) {
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
      Scale<kThreeQuarters>(problem, x + block * pitch + p * kB, sums, out);
      std::fill(out + std::min(kB, problem.channels - block * kB), out + kB, 0.0f);
    }
  }
}

// The same for any number of channels, any window and any formats.
template <bool kThreeQuarters>
void AnyFormat(const Problem& problem, const float* x, float* y, int64_t first, int64_t n) {
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
      Scale<kThreeQuarters>(problem, values, sums, values);
      std::fill(values + count, values + kB, 0.0f);
      const int64_t stored = problem.to.lanes == kB ? kB : count;  // with the padding of channels
      for (int64_t l = 0; l < stored; ++l) y[problem.to.At(begin + l, pixel)] = values[l];
    }
  }
}

using ApplyFunction = void (*)(const Problem&, const float*, float*, int64_t, int64_t);

template <bool kThreeQuarters>
ApplyFunction ApplyFor(const Problem& problem, Isa isa) {
  const bool blocks = problem.from.lanes == kChannelBlock && problem.to.lanes == kChannelBlock;
  const bool fits =
      problem.channels <= kMaxChannels && problem.before <= kMaxReach && problem.after <= kMaxReach;
  return blocks && fits ? Versions<Blocked<kThreeQuarters>>::For(isa)
                        : Versions<AnyFormat<kThreeQuarters>>::For(isa);
}

std::unique_ptr<Kernel> OwnLrn(const KernelRequest& request, const LRNParam& param,
                               double relative_time) {
  const TensorType &x = request.inputs[0], &y = request.outputs[0];
  const auto side = [](const TensorType& type) {
    return Side{IsBlocked(type.format) ? kChannelBlock : 1, StridesOf(type)};
  };
  const bool in_rows = x.format == Format::kNHCW16c || y.format == Format::kNHCW16c;
  const bool planes = !IsBlocked(x.format) && !IsBlocked(y.format);
  Problem problem;
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
  const ApplyFunction apply = planes               ? Versions<RowMajor>::For(isa)
                              : param.beta == 0.75 ? ApplyFor<true>(problem, isa)
                                                   : ApplyFor<false>(problem, isa);
  const int64_t step = planes ? kPixels : kGroup;
  const int64_t pieces = (problem.pixels + step - 1) / step;
  const int64_t grain =
      std::max<int64_t>(1, kElementsPerThread / (problem.channels * problem.before + 1) / step);
  const int threads = request.threads;
  return std::make_unique<OwnKernel>(
      absl::StrCat("lrn:", Name(request.processor.isa)),
      [=](const KernelArgs& args) {
        const int64_t count = problem.images * problem.rows * pieces;
        ParallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t first = i % pieces * step, row = i / pieces % problem.rows;
            const auto offset = [&](const Side& side) {
              return i / pieces / problem.rows * side.strides.n + row * side.strides.h;
            };
            apply(problem, static_cast<const float*>(args.inputs[0]) + offset(problem.from),
                  static_cast<float*>(args.outputs[0]) + offset(problem.to), first,
                  std::min(step, problem.pixels - first));
          }
        });
      },
      0, relative_time);
}

absl::StatusOr<KernelList> MakeLrn(const LRN& op, const KernelRequest& request) {
  const LRNParam& param = op.param();
  KernelList kernels;
  // oneDNN centres its window; an even one lies elsewhere here.
  if (request.at_hand && param.size % 2 == 1 && !IsBlocked(request.inputs[0].format) &&
      !IsBlocked(request.outputs[0].format)) {
    ASHLAR_RETURN_IF_ERROR(CallOneDnn("LRN", [&] {
      const dnnl::lrn_forward::desc desc(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
          OneDnnDesc(request.inputs[0]), param.size, static_cast<float>(param.alpha),
          static_cast<float>(param.beta), static_cast<float>(param.bias));
      ForEachImplementation(
          dnnl::lrn_forward::primitive_desc(desc, OneDnnAttributes(), OneDnnEngine(), true),
          [&](const dnnl::lrn_forward::primitive_desc& pd) {
            if (!kernels.empty()) return;  // the others are for older processors
            kernels.push_back(std::make_unique<OneDnnKernel>(
                pd, std::vector<OneDnnArgument>{OneDnnInput(DNNL_ARG_SRC, 0, pd.src_desc()),
                                                OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())}));
          });
    }));
  }
  kernels.push_back(OwnLrn(request, param, kernels.empty() ? 1.0 : 5.0));
  return kernels;
}

}  // namespace

void RegisterLrnKernels(KernelRegistry& registry) {
  registry.Register<LRN>(MakeLrn, {DType::kFloat32});
}

}  // namespace ashlar::cpu

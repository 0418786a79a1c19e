// LRN: oneDNN where it has generated code for the window, our own loops for the rest.
#include "opr/lrn.h"

#include <algorithm>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar {
namespace {

// Pixels of a row-major plane that are worked on together.
constexpr int64_t kPixels = 256;

struct Problem {
  int64_t images = 0, channels = 0, pixels = 0;
  int64_t pitch = 0;              // elements from block to block of channels
  int64_t before = 0, after = 0;  // channels of the window on both sides
  float bias = 0, factor = 0, exponent = 0;
};

// Pixels [first, first + n) of all channels of a row-major image.
void RowMajor(const Problem& problem, const float* x, float* y, int64_t first, int64_t n) {
  for (int64_t c = 0; c < problem.channels; ++c) {
    float squares[kPixels] = {};
    const int64_t end = std::min(c + problem.after + 1, problem.channels);
    for (int64_t i = std::max<int64_t>(c - problem.before, 0); i < end; ++i) {
      const float* const row = x + i * problem.pixels + first;
#pragma omp simd
      for (int64_t p = 0; p < n; ++p) squares[p] += row[p] * row[p];
    }
    const float* const row = x + c * problem.pixels + first;
    float* const out = y + c * problem.pixels + first;
#pragma omp simd
    for (int64_t p = 0; p < n; ++p) {
      out[p] = row[p] * powf(problem.bias + problem.factor * squares[p], problem.exponent);
    }
  }
}

// One pixel of all channels of a blocked image or row; `n` is 1. The padding of channels is zero,
// and stays so.
void Blocked(const Problem& problem, const float* x, float* y, int64_t pixel, int64_t) {
  constexpr int64_t kB = kChannelBlock;
  const int64_t blocks = (problem.channels + kB - 1) / kB;
  const int64_t pitch = problem.pitch;
  x += pixel * kB;
  y += pixel * kB;
  for (int64_t block = 0; block < blocks; ++block) {
    float squares[kB] = {};
    for (int64_t shift = -problem.before; shift <= problem.after; ++shift) {
      // Lane l takes in channel block * 16 + l + shift: of block `low` or of the one behind it.
      const int64_t channel = block * kB + shift;
      const int64_t low = (channel >= 0 ? channel : channel - kB + 1) / kB;
      const int64_t lane = channel - low * kB;
      if (low >= 0 && low < blocks) {
        const float* const from = x + low * pitch + lane;
        for (int64_t l = 0; l < kB - lane; ++l) squares[l] += from[l] * from[l];
      }
      if (low + 1 >= 0 && low + 1 < blocks) {
        const float* const from = x + (low + 1) * pitch - (kB - lane);
        for (int64_t l = kB - lane; l < kB; ++l) squares[l] += from[l] * from[l];
      }
    }
#pragma omp simd
    for (int64_t l = 0; l < kB; ++l) {
      y[block * pitch + l] =
          x[block * pitch + l] * powf(problem.bias + problem.factor * squares[l], problem.exponent);
    }
  }
}

std::unique_ptr<Kernel> OwnLrn(const KernelRequest& request, const LRNParam& param,
                               double relative_time) {
  const TensorType& type = request.inputs[0];
  const bool blocked = IsBlocked(type.format);
  Problem problem;
  problem.images = type.shape[0];
  problem.channels = type.shape[1];
  problem.pixels = type.shape[2] * type.shape[3];
  if (type.format == Format::kNHCW16c) {  // rows are images that are one row high
    problem.images *= type.shape[2];
    problem.pixels = type.shape[3];
  }
  problem.pitch = StridesOf(type).c;
  problem.before = std::min((param.size - 1) / 2, problem.channels);
  problem.after = std::min(param.size / 2, problem.channels);
  problem.bias = static_cast<float>(param.bias);
  problem.factor = static_cast<float>(param.alpha / static_cast<double>(param.size));
  problem.exponent = static_cast<float>(-param.beta);
  const auto apply =
      blocked ? Versions<Blocked>::For(HostIsa()) : Versions<RowMajor>::For(HostIsa());
  const int64_t step = blocked ? 1 : kPixels;
  const int64_t pieces = (problem.pixels + step - 1) / step;
  const int64_t image = type.bytes() / problem.images / SizeOf(type.dtype);
  const int64_t grain =
      std::max<int64_t>(1, kElementsPerThread / (problem.channels * problem.before + 1) / step);
  const int threads = request.threads;
  return std::make_unique<OwnKernel>(
      absl::StrCat("lrn:", Name(HostIsa())),
      [=](const KernelArgs& args) {
        ParallelFor(threads, problem.images * pieces, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t offset = i / pieces * image, first = i % pieces * step;
            apply(problem, static_cast<const float*>(args.inputs[0]) + offset,
                  static_cast<float*>(args.outputs[0]) + offset, first,
                  std::min(step, problem.pixels - first));
          }
        });
      },
      0, relative_time);
}

absl::StatusOr<KernelList> MakeLrn(const KernelRequest& request) {
  const LRNParam& param = static_cast<const LRN&>(*request.op).param();
  KernelList kernels;
  // oneDNN centres its window; an even one lies elsewhere here.
  if (param.size % 2 == 1 && OneDnnSupports(request.inputs[0].format)) {
    ASHLAR_RETURN_IF_ERROR(CallOneDnn("LRN", [&] {
      const dnnl::lrn_forward::desc desc(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
          OneDnnDesc(WithWholeBlocks(request.inputs[0])), param.size,
          static_cast<float>(param.alpha), static_cast<float>(param.beta),
          static_cast<float>(param.bias));
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

void RegisterLrnKernels(KernelRegistry& registry) { registry.Register("LRN", MakeLrn); }

}  // namespace ashlar

// PoolingForward: oneDNN where it generates code that is faster, our own loops for the rest.
#include "opr/pooling.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar {
namespace {

// Elements; above, oneDNN's generated code grows long and its sums inaccurate.
constexpr int64_t kLargestOneDnnWindow = 256;

struct Taps {
  int64_t begin, end;  // input positions of a window inside the image
};

Taps TapsOf(const WindowAxis& axis, int64_t o) {
  return {std::max<int64_t>(axis.Origin(o), 0), std::min(axis.Origin(o) + axis.window, axis.input)};
}

// One row of the output from a plane of the input, whose rows are `pitch` elements apart; kLanes
// channels lie together. Sums are formed
// row by row of the window, so that they stay accurate in large ones. Maxima hand a NaN on.
template <int kLanes, bool kMax>
void PoolRow(const float* plane, int64_t pitch, float* output, const PoolingGeometry& geometry,
             int64_t oh, bool count_padding) {
  const WindowAxis& w = geometry.w;
  const Taps rows = TapsOf(geometry.h, oh);
  const float whole = static_cast<float>(geometry.h.window) * static_cast<float>(w.window);
  for (int64_t ow = 0; ow < w.output; ++ow, output += kLanes) {
    const Taps columns = TapsOf(w, ow);
    float total[kLanes];
    for (float& t : total) t = kMax ? -std::numeric_limits<float>::infinity() : 0;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      const float* x = plane + y * pitch + columns.begin * kLanes;
      float row[kLanes] = {};
      for (int64_t i = columns.begin; i < columns.end; ++i, x += kLanes) {
#pragma omp simd
        for (int l = 0; l < kLanes; ++l) {
          if constexpr (kMax) {
            total[l] = x[l] > total[l] || x[l] != x[l] ? x[l] : total[l];
          } else {
            row[l] += x[l];
          }
        }
      }
      for (int l = 0; l < kLanes && !kMax; ++l) total[l] += row[l];
    }
    const float inside =
        static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    const float divisor = kMax ? 1 : count_padding ? whole : inside;
    for (int l = 0; l < kLanes; ++l) output[l] = total[l] / divisor;
  }
}

template <int kLanes>
auto PoolRowFor(PoolingMode mode) {
  return mode == PoolingMode::kMax ? Versions<PoolRow<kLanes, true>>::For(HostIsa())
                                   : Versions<PoolRow<kLanes, false>>::For(HostIsa());
}

std::unique_ptr<Kernel> OwnPooling(const KernelRequest& request, const PoolingGeometry& geometry,
                                   PoolingMode mode, double relative_time) {
  const bool blocked = IsBlocked(request.inputs[0].format);
  const int64_t lanes = blocked ? kChannelBlock : 1;
  const auto pool_row = blocked ? PoolRowFor<kChannelBlock>(mode) : PoolRowFor<1>(mode);
  const int64_t blocks = (geometry.channels + lanes - 1) / lanes, rows = geometry.h.output;
  const ImageStrides from = StridesOf(request.inputs[0]), to = StridesOf(request.outputs[0]);
  const int64_t taps = geometry.w.output * lanes * std::min(geometry.h.window, geometry.h.input) *
                       std::min(geometry.w.window, geometry.w.input);
  const int threads = request.threads;
  return std::make_unique<OwnKernel>(
      absl::StrCat("pooling:", Name(HostIsa())),
      [=](const KernelArgs& args) {
        const float* const input = static_cast<const float*>(args.inputs[0]);
        float* const output = static_cast<float*>(args.outputs[0]);
        ParallelFor(threads, geometry.batch * blocks * rows,
                    std::max<int64_t>(1, kElementsPerThread / taps),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t n = i / rows / blocks, c = i / rows % blocks, row = i % rows;
                        pool_row(input + n * from.n + c * from.c, from.h,
                                 output + n * to.n + c * to.c + row * to.h, geometry, row,
                                 mode == PoolingMode::kAverage);
                      }
                    });
      },
      0, relative_time);
}

dnnl::algorithm AlgorithmOf(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::kMax:
      return dnnl::algorithm::pooling_max;
    case PoolingMode::kAverage:
      return dnnl::algorithm::pooling_avg_include_padding;
    case PoolingMode::kAverageCountExcludePadding:
      break;
  }
  return dnnl::algorithm::pooling_avg_exclude_padding;
}

// Its sums lose accuracy in large windows, and its maxima drop a NaN.
absl::Status AddOneDnnKernels(const KernelRequest& request, const PoolingGeometry& geometry,
                              PoolingMode mode, KernelList& kernels) {
  const WindowAxis& h = geometry.h;
  const WindowAxis& w = geometry.w;
  return CallOneDnn("PoolingForward", [&] {
    const dnnl::pooling_forward::desc desc(dnnl::prop_kind::forward_inference, AlgorithmOf(mode),
                                           OneDnnDesc(WithWholeBlocks(request.inputs[0])),
                                           OneDnnDesc(WithWholeBlocks(request.outputs[0])),
                                           {h.stride, w.stride}, {h.window, w.window},
                                           {h.pad_begin, w.pad_begin}, {h.pad_end, w.pad_end});
    ForEachImplementation(
        dnnl::pooling_forward::primitive_desc(desc, OneDnnAttributes(), OneDnnEngine(), true),
        [&](const dnnl::pooling_forward::primitive_desc& pd) {
          // What it calls "simple" takes several times as long as our loops.
          if (!absl::StartsWith(pd.impl_info_str(), "jit")) return;
          kernels.push_back(std::make_unique<OneDnnKernel>(
              pd, std::vector<OneDnnArgument>{OneDnnInput(DNNL_ARG_SRC, 0, pd.src_desc()),
                                              OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())}));
        });
  });
}

absl::StatusOr<KernelList> MakePooling(const KernelRequest& request) {
  const PoolingParam& param = static_cast<const PoolingForward&>(*request.op).param();
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, request.inputs[0]));
  const bool blocked = IsBlocked(request.inputs[0].format);
  const bool small_window = geometry.h.window * geometry.w.window <= kLargestOneDnnWindow;
  KernelList kernels;
  if (small_window && OneDnnSupports(request.inputs[0].format) &&
      OneDnnSupports(request.outputs[0].format) && (param.mode == PoolingMode::kMax || !blocked)) {
    ASHLAR_RETURN_IF_ERROR(AddOneDnnKernels(request, geometry, param.mode, kernels));
  }
  // Measured against generated code: 2.5 times its time for maxima in NCHW16c, 5 for planes.
  const double relative_time = kernels.empty() ? 1.0 : blocked ? 2.5 : 5.0;
  kernels.push_back(OwnPooling(request, geometry, param.mode, relative_time));
  return kernels;
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register("PoolingForward", MakePooling);
}

}  // namespace ashlar

// PoolingForward: our own loops; oneDNN's generated code for row-major planes.
#include "opr/pooling.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/onednn.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/pooling_row.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

// Elements; above, oneDNN's generated code grows long and its sums inaccurate.
constexpr int64_t kLargestOneDnnWindow = 256;

std::unique_ptr<Kernel> OwnPooling(const KernelRequest& request, const PoolingGeometry& geometry,
                                   PoolingMode mode, double relative_time) {
  const TensorType input_type = request.inputs[0], output_type = request.outputs[0];
  const bool blocked = IsBlocked(input_type.format);
  // An image of few channels may be row-major, and its result in blocks.
  const bool scattered = !blocked && IsBlocked(output_type.format);
  const PoolRowFunction pool_row = PoolRowFor(request.processor.isa, blocked, geometry, mode);
  const int64_t planes = blocked ? ChannelBlocks(geometry.channels) : geometry.channels;
  const int64_t rows = geometry.h.output;
  const ImageStrides from = StridesOf(input_type), to = StridesOf(output_type);
  const int64_t taps = geometry.w.output * (blocked ? kChannelBlock : 1) *
                       std::min(geometry.h.window, geometry.h.input) *
                       std::min(geometry.w.window, geometry.w.input);
  const int threads = request.threads;
  return std::make_unique<OwnKernel>(
      absl::StrCat("pooling:", Name(request.processor.isa)),
      [=](const KernelArgs& args) {
        const float* const input = static_cast<const float*>(args.inputs[0]);
        float* const output = static_cast<float*>(args.outputs[0]);
        ParallelFor(threads, geometry.batch * planes * rows,
                    std::max<int64_t>(1, kElementsPerThread / taps),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t n = i / rows / planes, c = i / rows % planes, row = i % rows;
                        const int64_t plane =
                            scattered ? c / kChannelBlock * to.c + c % kChannelBlock : c * to.c;
                        pool_row(input + n * from.n + c * from.c, from.h,
                                 output + n * to.n + plane + row * to.h, to.w, geometry, row, mode);
                      }
                    });
        if (scattered) ZeroChannelPadding(output_type, output);
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
  // oneDNN does not crop, and its windows are asked for without holes.
  if (std::min({h.pad_begin, h.pad_end, w.pad_begin, w.pad_end}) < 0 ||
      std::max(h.dilation, w.dilation) > 1) {
    return absl::OkStatus();
  }
  return CallOneDnn("PoolingForward", [&] {
    const dnnl::pooling_forward::desc desc(
        dnnl::prop_kind::forward_inference, AlgorithmOf(mode), OneDnnDesc(request.inputs[0]),
        OneDnnDesc(request.outputs[0]), {h.stride, w.stride}, {h.window, w.window},
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

absl::StatusOr<KernelList> MakePooling(const PoolingForward& op, const KernelRequest& request) {
  const PoolingParam& param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, request.inputs[0]));
  const bool planes = !IsBlocked(request.inputs[0].format) && !IsBlocked(request.outputs[0].format);
  const bool small_window = geometry.h.window * geometry.w.window <= kLargestOneDnnWindow;
  KernelList kernels;
  if (request.at_hand && planes && small_window) {
    ASHLAR_RETURN_IF_ERROR(AddOneDnnKernels(request, geometry, param.mode, kernels));
  }
  // Measured against generated code for planes: 5 times its time.
  kernels.push_back(OwnPooling(request, geometry, param.mode, kernels.empty() ? 1.0 : 5.0));
  return kernels;
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register<PoolingForward>(MakePooling, {DType::kFloat32});
}

}  // namespace ashlar::cpu

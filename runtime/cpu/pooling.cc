// PoolingForward: rows of the output, shared among threads.
#include "opr/pooling.h"

#include <algorithm>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/pooling_row.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

absl::StatusOr<KernelList> MakePooling(const PoolingForward& op, const KernelRequest& request) {
  if (IsQuantized(request.inputs[0].dtype)) return QuantizedPoolingKernels(op, request);
  const PoolingMode mode = op.param().mode;
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry,
                          InferPooling(op.param(), request.inputs[0]));
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
  return OnlyKernel(
      absl::StrCat("pooling:", Name(request.processor.isa)), [=](const KernelArgs& args) {
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
      });
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry) {
  registry.Register<PoolingForward>(
      MakePooling, {DType::kFloat32, DType::kQuantized8Asymm, DType::kQuantizedS8});
}

}  // namespace ashlar::cpu

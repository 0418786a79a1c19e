// PoolingForward.
#include "opr/pooling.h"

#include "graph/status.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pooling_code.h"
#include "runtime/cuda/quantized.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

// The widest memory access, and the narrowest with which a warp still reads whole lines.
constexpr int kWidest = 16, kNarrowest = 4;  // in bytes
// With fewer threads, a large GPU is mostly idle: it can run several times as many.
constexpr int64_t kFewThreads = 32768;
// Windows with fewer taps are not worth a team.
constexpr int64_t kTeamTaps = 16;
// Row-major outputs whose windows are at least so many elements apart share no cache lines.
constexpr int64_t kFarApart = 8;

// Decides how threads share the work: uses more threads if there are few outputs, and maps adjacent
// threads to adjacent elements.
void ShareWork(const TensorType& src, const TensorType& dst, const PoolingGeometry& geometry,
               PoolParams& params) {
  const bool input_last = src.format == Format::kNHWC;
  params.channels_last = dst.format == Format::kNHWC;
  const int64_t outputs = dst.shape.num_elements();
  const int bytes = static_cast<int>(SizeOf(dst.dtype));
  if (input_last && params.channels_last) {
    params.pack = kNarrowest / bytes;
    if (dst.shape[1] % (kWidest / bytes) == 0) params.pack = kWidest / bytes;
    if (dst.shape[1] % params.pack != 0) params.pack = 1;
  }
  const bool few = outputs / params.pack < kFewThreads;
  const bool scattered = !input_last && (geometry.w.output == 1 || geometry.w.stride >= kFarApart);
  params.by_team = geometry.h.window * geometry.w.window >= kTeamTaps && (few || scattered);
  params.taps_across = !input_last;
  const int64_t members = !params.by_team ? 1 : params.taps_across ? kPoolAcross : kPoolDown;
  if (params.pack > 1 && outputs / params.pack * members < kFewThreads) {
    params.pack = kNarrowest / bytes;
  }
}

absl::StatusOr<KernelList> MakePooling(const PoolingForward& op, const KernelRequest& request) {
  if (IsQuantizedTo8Bits(request.inputs[0].dtype)) return QuantizedPoolingKernels(op, request);
  const PoolingParam& param = op.param();
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, src));
  static_assert(static_cast<int>(PoolKind::kAverageInside) ==
                static_cast<int>(PoolingMode::kAverageCountExcludePadding));
  PoolParams params;
  params.dtype = ScalarOf(dst.dtype);
  params.kind = static_cast<PoolKind>(param.mode);
  ShareWork(src, dst, geometry, params);
  params.extents = ImageExtents(dst, params.pack);
  params.h = StepsOf(geometry.h);
  params.w = StepsOf(geometry.w);
  params.in_steps = StepsOf(src);
  params.out_steps = StepsOf(dst);
  std::string name = params.by_team ? "pooling:teams" : "pooling";
  if (params.pack > 1) absl::StrAppend(&name, ":packs", params.pack);
  return OnlyLaunchOnFirst(std::move(name), params);
}

}  // namespace

void RegisterPoolingKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<PoolingForward>(MakePooling, WithBytes(kFloats));
}

}  // namespace ashlar::cuda

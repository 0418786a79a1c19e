// Dropout: each element depends only on its own number, so results do not depend on threads.
#include "opr/dropout.h"

#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

void Drop(const float* x, float* y, int64_t begin, int64_t end, uint64_t key, uint64_t threshold,
          float scale) {
  for (int64_t i = begin; i < end; ++i) y[i] = DropoutKeeps(key, i, threshold) ? x[i] * scale : 0;
}

absl::StatusOr<KernelList> MakeDropout(const Dropout& op, const KernelRequest& request) {
  const DropoutParam param = op.param();
  const int64_t count = request.outputs[0].shape.num_elements();
  const bool wide = request.inputs[Dropout::kStep].dtype == DType::kInt64;
  const uint64_t threshold = DropoutThreshold(param.probability);
  const float scale = static_cast<float>(1 / (1 - param.probability));
  const int threads = request.threads;
  const auto drop = Versions<Drop>::For(request.processor.isa);
  return OnlyKernel("dropout", [=](const KernelArgs& args) {
    const void* const step = args.inputs[Dropout::kStep];
    const int64_t number =
        wide ? *static_cast<const int64_t*>(step) : *static_cast<const int32_t*>(step);
    const uint64_t key = DropoutKey(param.seed, number);
    ParallelFor(threads, count, kElementsPerThread, [&](int64_t begin, int64_t end) {
      drop(args.Input<float>(Dropout::kX), args.Output<float>(0), begin, end, key, threshold,
           scale);
    });
  });
}

}  // namespace

void RegisterDropoutKernels(KernelRegistry& registry) {
  registry.Register<Dropout>(MakeDropout, {DType::kFloat32, DType::kInt32, DType::kInt64});
}

}  // namespace ashlar::cpu

// BatchNorm where it was not folded into weights: y = scale * x + shift for each channel.
#include "opr/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar {
namespace {

constexpr int kBlock = static_cast<int>(kChannelBlock);

// `pixels` pixels of kLanes channels. `y` may be `x`.
template <int kLanes>
void ScaleAndShift(const float* x, float* y, int64_t pixels, const float* scale,
                   const float* shift) {
  for (int64_t p = 0; p < pixels; ++p) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) {
      y[p * kLanes + l] = x[p * kLanes + l] * scale[l] + shift[l];
    }
  }
}

// A row-major plane is one channel.
template <>
void ScaleAndShift<1>(const float* x, float* y, int64_t pixels, const float* scale,
                      const float* shift) {
  const float factor = *scale, offset = *shift;
#pragma omp simd
  for (int64_t p = 0; p < pixels; ++p) y[p] = x[p] * factor + offset;
}

struct Problem {
  int64_t channels = 0;
  int lanes = 1;  // channels that lie together
  // Memory is `outer` (images, or rows of them) times `blocks` (of `lanes` channels) times
  // `pixels`.
  int64_t outer = 0, blocks = 0, pixels = 0;
  double epsilon = 0;
  int threads = 1;
};

void Run(const Problem& problem, const KernelArgs& args) {
  const auto input = [&](int i) { return static_cast<const float*>(args.inputs[i]); };
  float* const output = static_cast<float*>(args.outputs[0]);
  const int lanes = problem.lanes;
  const auto apply = lanes == 1 ? Versions<ScaleAndShift<1>>::For(HostIsa())
                                : Versions<ScaleAndShift<kBlock>>::For(HostIsa());
  const int64_t piece = problem.pixels * lanes;
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / piece);
  ParallelFor(
      problem.threads, problem.outer * problem.blocks, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          float scale[kBlock] = {}, shift[kBlock] = {};  // zeros keep the padding of channels zero
          const int64_t first = i % problem.blocks * lanes;
          for (int64_t l = 0; l < lanes && first + l < problem.channels; ++l) {
            const int64_t c = first + l;
            const double factor =
                input(BatchNorm::kScale)[c] /
                std::sqrt(static_cast<double>(input(BatchNorm::kVariance)[c]) + problem.epsilon);
            scale[l] = static_cast<float>(factor);
            shift[l] = static_cast<float>(input(BatchNorm::kBias)[c] -
                                          input(BatchNorm::kMean)[c] * factor);
          }
          apply(input(BatchNorm::kX) + i * piece, output + i * piece, problem.pixels, scale, shift);
        }
      });
}

absl::StatusOr<KernelList> MakeBatchNorm(const KernelRequest& request) {
  const TensorType& x = request.inputs[BatchNorm::kX];
  Problem problem;
  problem.outer = x.shape[0];
  problem.channels = x.shape[1];
  problem.pixels = x.shape.num_elements() / (x.shape[0] * x.shape[1]);
  if (IsBlocked(x.format)) problem.lanes = kBlock;
  if (x.format == Format::kNHCW16c) {
    problem.outer *= x.shape[2];
    problem.pixels = x.shape[3];
  }
  problem.blocks = (problem.channels + problem.lanes - 1) / problem.lanes;
  problem.epsilon = static_cast<const BatchNorm&>(*request.op).param().epsilon;
  problem.threads = request.threads;
  return OnlyKernel(absl::StrCat("batch_norm:", Name(HostIsa())),
                    [=](const KernelArgs& args) { Run(problem, args); });
}

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry) {
  registry.Register("BatchNorm", MakeBatchNorm);
}

}  // namespace ashlar

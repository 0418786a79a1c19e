// BatchNorm that was not folded into weights: y = scale * x + shift for each channel.
#include "opr/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/cpu/doubles.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int kScaledBlock = static_cast<int>(kChannelBlock);

// Computes `pixels` pixels of kLanes channels. `y` may be `x`.
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

// A row-major plane has one channel.
template <>
void ScaleAndShift<1>(const float* x, float* y, int64_t pixels, const float* scale,
                      const float* shift) {
  const float factor = *scale, offset = *shift;
#pragma omp simd
  for (int64_t p = 0; p < pixels; ++p) y[p] = x[p] * factor + offset;
}

struct NormProblem {
  int64_t channels = 0;
  int lanes = 1;  // adjacent channels
  // Loops over images, their rows (one, if planes are contiguous) and blocks of `lanes` channels.
  // Each has `pixels` contiguous pixels.
  int64_t images = 0, rows = 1, blocks = 0, pixels = 0;
  ImageStrides from, to;
  double epsilon = 0;
  int threads = 1;
  Isa isa = Isa::kBaseline;
};

void RunNorm(const NormProblem& problem, const KernelArgs& args) {
  const auto input = [&](int i) { return static_cast<const float*>(args.inputs[i]); };
  float* const output = args.Output<float>(0);
  const int lanes = problem.lanes;
  const auto apply = lanes == 1 ? Versions<ScaleAndShift<1>>::For(problem.isa)
                                : Versions<ScaleAndShift<kScaledBlock>>::For(problem.isa);
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (problem.pixels * lanes));
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i % problem.blocks, row = i / problem.blocks % problem.rows;
      const int64_t image = i / problem.blocks / problem.rows;
      const auto offset = [&](const ImageStrides& strides) {
        return image * strides.n + row * strides.h + block * strides.c;
      };
      float scale[kScaledBlock] = {},
            shift[kScaledBlock] = {};  // zeros keep the padding of channels zero
      for (int64_t l = 0; l < lanes && block * lanes + l < problem.channels; ++l) {
        const int64_t c = block * lanes + l;
        const double factor =
            input(BatchNorm::kScale)[c] /
            std::sqrt(static_cast<double>(input(BatchNorm::kVariance)[c]) + problem.epsilon);
        scale[l] = static_cast<float>(factor);
        shift[l] =
            static_cast<float>(input(BatchNorm::kBias)[c] - input(BatchNorm::kMean)[c] * factor);
      }
      apply(input(BatchNorm::kX) + offset(problem.from), output + offset(problem.to),
            problem.pixels, scale, shift);
    }
  };
  ParallelFor(problem.threads, problem.images * problem.rows * problem.blocks, grain, run);
}

absl::StatusOr<KernelList> MakeBatchNorm(const BatchNorm& op, const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kFloat64) return DoubleBatchNorm(op, request);
  const TensorType &x = request.inputs[BatchNorm::kX], &y = request.outputs[0];
  if (IsBlocked(x.format) != IsBlocked(y.format)) {
    return absl::UnimplementedError(
        absl::StrCat("batch norm of ", x.ToString(), " to ", y.ToString()));
  }
  NormProblem problem;
  problem.images = x.shape[0];
  problem.channels = x.shape[1];
  problem.pixels = x.shape.num_elements() / (x.shape[0] * x.shape[1]);
  problem.from = problem.to = {problem.channels * problem.pixels, problem.pixels, 0, 1};
  if (IsBlocked(x.format)) {
    problem.lanes = kScaledBlock;
    problem.from = StridesOf(x);
    problem.to = StridesOf(y);
    if (x.format == Format::kNHCW16c || y.format == Format::kNHCW16c) {
      problem.rows = x.shape[2];
      problem.pixels = x.shape[3];
    }
  }
  problem.blocks = (problem.channels + problem.lanes - 1) / problem.lanes;
  problem.epsilon = op.param().epsilon;
  problem.threads = request.threads;
  problem.isa = request.processor.isa;
  return OnlyKernel(absl::StrCat("batch_norm:", Name(request.processor.isa)),
                    [=](const KernelArgs& args) { RunNorm(problem, args); });
}

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry) {
  registry.Register<BatchNorm>(MakeBatchNorm, {DType::kFloat32, DType::kFloat64});
}

}  // namespace ashlar::cpu

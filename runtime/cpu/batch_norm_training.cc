// BatchNormTraining, its two halves, and BatchNormBackward. Computes sums for each channel, then
// each element from these, by short pixel ranges (batch_norm_range.h). Images are split into a
// fixed number of parts, so that results do not depend on threads.
#include "opr/batch_norm_training.h"

#include <algorithm>
#include <cmath>

#include "graph/region.h"
#include "runtime/cpu/batch_norm_range.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMostParts = 4;  // of the images

// The layout of tensors [N, C, ...] of one shape, and of the statistics of their channels.
struct TrainingProblem {
  int64_t images = 0, channels = 0;
  int64_t lanes = 1;             // channels processed together
  int64_t rows = 1, pixels = 0;  // in a plane; one row, if planes are contiguous
  ImageLayout at[kNormTensors];  // x and the computed tensor, then the third
  double epsilon = 0;
  NormForm form;
  float most = 0;  // upper bound of the activation
  int threads = 1;
  Isa isa = Isa::kBaseline;
  TensorType types[kNormTensors];  // of the outputs

  int64_t blocks() const { return CeilDivide(channels, lanes); }
  int64_t padded() const { return blocks() * lanes; }
  int64_t parts() const { return std::min(images, kMostParts); }
  double count() const { return static_cast<double>(images * rows * pixels); }
  // Bytes for two sums per channel and part, then the channels' coefficients.
  int64_t workspace_bytes() const {
    return padded() *
           static_cast<int64_t>(parts() * 2 * sizeof(double) + kCoefficients * sizeof(float));
  }
  double* Sums(void* workspace, int64_t part) const {
    return static_cast<double*>(workspace) + part * 2 * padded();
  }
  float* Coefficients(void* workspace) const {
    return reinterpret_cast<float*>(Sums(workspace, parts()));
  }
};

// Calls visit(range) for each pixel range of image `n` in a block.
template <typename Visit>
void ForEachRange(const TrainingProblem& p, const float* const (&from)[2], float* to, int64_t n,
                  int64_t block, const Visit& visit) {
  const int64_t c = block * p.lanes;
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t begin = 0; begin < p.pixels; begin += kMostRange) {
      NormRange range = {};
      for (int i = 0; i < 2; ++i) {
        if (from[i] != nullptr) range.from[i] = from[i] + p.at[i].Offset(n, c, row, begin);
        range.step[i] = p.at[i].block;
      }
      const ImageLayout& last = p.at[kNormTensors - 1];
      if (to != nullptr) range.to = to + last.Offset(n, c, row, begin);
      range.step[kNormTensors - 1] = last.block;
      range.pixels = std::min(kMostRange, p.pixels - begin);
      visit(range);
    }
  }
}

// Calls sum(n, block, part) for the images of each part, in order. Each part has its own sums.
template <typename Sum>
void ForEachImageOfParts(const TrainingProblem& p, const Sum& sum) {
  const int64_t parts = p.parts(), elements = p.images / parts * p.rows * p.pixels * p.lanes;
  ParallelFor(p.threads, p.blocks() * parts,
              std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, elements)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const Range images = PartOf({0, p.images}, i % parts, parts);
                  sum(images, i / parts, i % parts);
                }
              });
}

template <typename Make>
void ForEachPlane(const TrainingProblem& p, const Make& make) {
  const int64_t blocks = p.blocks(), elements = p.rows * p.pixels * p.lanes;
  ParallelFor(p.threads, p.images * blocks, std::max<int64_t>(1, kElementsPerThread / elements),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) make(i / blocks, i % blocks);
              });
}

// Returns the coefficients of channel c, at lane c % lanes of its block.
float* CoefficientsOf(const TrainingProblem& p, void* workspace, int64_t c) {
  return p.Coefficients(workspace) + c / p.lanes * p.lanes * kCoefficients + c % p.lanes;
}

float FactorOf(const TrainingProblem& p, float scale, float variance) {
  return static_cast<float>(scale / std::sqrt(static_cast<double>(variance) + p.epsilon));
}

// Zeroes the padding of outputs that have one element per channel.
void ZeroPadding(const TrainingProblem& p, const KernelArgs& args) {
  for (int i = 0; i < kNormTensors; ++i) {
    if (i > 0 || p.lanes == 1) ZeroChannelPadding(p.types[i], args.outputs[i]);
  }
}

// Computes y from x and given statistics.
template <int kLanes>
void MakeY(const TrainingProblem& p, const NormCode<kLanes>& code, const float* mean,
           const float* variance, const KernelArgs& args) {
  using Op = BatchNormTraining;  // BatchNormApply has x, scale and bias at the same indices
  float* const coefficients = p.Coefficients(args.workspace);
  std::fill_n(coefficients, p.padded() * kCoefficients, 0.0f);
  for (int64_t c = 0; c < p.channels; ++c) {
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kMean * kLanes] = mean[c];
    of_channel[kOfX * kLanes] = FactorOf(p, args.Input<float>(Op::kScale)[c], variance[c]);
    of_channel[kPlus * kLanes] = args.Input<float>(Op::kBias)[c];
    of_channel[kOfDiff * kLanes] = 1;  // for the addend
    of_channel[kMost * kLanes] = p.most;
  }
  const float* const from[2] = {args.Input<float>(Op::kX),
                                p.form.adds ? args.Input<float>(BatchNormApply::kAddend) : nullptr};
  ForEachPlane(p, [&](int64_t n, int64_t block) {
    const float* const c = coefficients + block * kLanes * kCoefficients;
    ForEachRange(p, from, args.Output<float>(Op::kY), n, block,
                 [&](const NormRange& range) { code.normalise(range, c); });
  });
}

// Computes mean and variance of x, which is input 0.
template <int kLanes>
void FindStatistics(const TrainingProblem& p, const NormCode<kLanes>& code, const KernelArgs& args,
                    float* mean_of, float* variance_of) {
  const float* const from[2] = {args.Input<float>(BatchNormTraining::kX), nullptr};
  const double of_plane = static_cast<double>(p.rows * p.pixels);
  ForEachImageOfParts(p, [&](const Range& images, int64_t block, int64_t part) {
    double* const mean = p.Sums(args.workspace, part) + block * kLanes;
    double* const squares = mean + p.padded();
    std::fill_n(mean, kLanes, 0.0);
    std::fill_n(squares, kLanes, 0.0);
    double count = 0;
    for (int64_t n = images.begin; n < images.end; ++n) {
      ForEachRange(p, from, nullptr, n, block, [&](const NormRange& range) {
        code.moments(range, count, mean, squares);
        count += static_cast<double>(range.pixels);
      });
    }
  });
  for (int64_t c = 0; c < p.channels; ++c) {
    double count = 0, mean = 0, squares = 0;
    for (int64_t part = 0; part < p.parts(); ++part) {
      const double* const sums = p.Sums(args.workspace, part) + c;
      const double more =
          of_plane * static_cast<double>(PartOf({0, p.images}, part, p.parts()).size());
      const double apart = sums[0] - mean, all = count + more;
      squares += sums[p.padded()] + apart * apart * count * more / all;
      mean += apart * more / all;
      count = all;
    }
    mean_of[c] = static_cast<float>(mean);
    variance_of[c] = static_cast<float>(std::max(squares / count, 0.0));
  }
}

template <int kLanes>
void Normalise(const TrainingProblem& p, const NormCode<kLanes>& code, const KernelArgs& args) {
  using Op = BatchNormTraining;
  FindStatistics(p, code, args, args.Output<float>(Op::kMean), args.Output<float>(Op::kVariance));
  MakeY(p, code, args.Output<float>(Op::kMean), args.Output<float>(Op::kVariance), args);
  ZeroPadding(p, args);
}

template <int kLanes>
void GoBack(const TrainingProblem& p, const NormCode<kLanes>& code, const KernelArgs& args) {
  using Op = BatchNormBackward;
  const float* const from[2] = {args.Input<float>(Op::kX), args.Input<float>(Op::kDiff)};
  const float* const means = args.Input<float>(Op::kMean);
  float* const coefficients = p.Coefficients(args.workspace);
  std::fill_n(coefficients, p.padded() * kCoefficients, 0.0f);
  for (int64_t c = 0; c < p.channels; ++c) {
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kMean * kLanes] = means[c];
    if (!p.form.masked) continue;
    of_channel[kFactor * kLanes] =
        FactorOf(p, args.Input<float>(Op::kScale)[c], args.Input<float>(Op::kVariance)[c]);
    of_channel[kBias * kLanes] = args.Input<float>(Op::kBias)[c];
    of_channel[kMost * kLanes] = p.most;
  }
  ForEachImageOfParts(p, [&](const Range& images, int64_t block, int64_t part) {
    double* const sums = p.Sums(args.workspace, part) + block * kLanes;
    double* const products = sums + p.padded();
    std::fill_n(sums, kLanes, 0.0);
    std::fill_n(products, kLanes, 0.0);
    const float* const c = coefficients + block * kLanes * kCoefficients;
    for (int64_t n = images.begin; n < images.end; ++n) {
      ForEachRange(p, from, nullptr, n, block,
                   [&](const NormRange& range) { code.products(range, c, sums, products); });
    }
  });
  for (int64_t c = 0; c < p.channels; ++c) {
    double sum = 0, product = 0;
    for (int64_t part = 0; part < p.parts(); ++part) {
      const double* const sums = p.Sums(args.workspace, part) + c;
      sum += sums[0], product += sums[p.padded()];
    }
    const double variance = args.Input<float>(Op::kVariance)[c];
    const double inverse = 1 / std::sqrt(variance + p.epsilon);
    const double factor = args.Input<float>(Op::kScale)[c] * inverse;
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kOfX * kLanes] =
        static_cast<float>(-factor * inverse * inverse * product / p.count());
    of_channel[kOfDiff * kLanes] = static_cast<float>(factor);
    of_channel[kPlus * kLanes] = static_cast<float>(-factor * sum / p.count());
    args.Output<float>(Op::kDScale)[c] = static_cast<float>(product * inverse);
    args.Output<float>(Op::kDBias)[c] = static_cast<float>(sum);
  }
  ForEachPlane(p, [&](int64_t n, int64_t block) {
    const float* const c = coefficients + block * kLanes * kCoefficients;
    ForEachRange(p, from, args.Output<float>(Op::kDX), n, block,
                 [&](const NormRange& range) { code.go_back(range, c); });
  });
  ZeroPadding(p, args);
}

// Reads the problem: x, diff (x again if there is none), and the output.
TrainingProblem ReadProblem(const KernelRequest& request, const TensorType& x,
                            const TensorType& diff, const TensorType& made, double epsilon) {
  TrainingProblem p;
  p.images = x.shape[0];
  p.channels = x.shape[1];
  p.pixels = x.shape.num_elements() / (p.images * p.channels);
  p.epsilon = epsilon;
  p.threads = request.threads;
  p.isa = request.processor.isa;
  const TensorType* const tensors[] = {&x, &diff, &made};
  bool even = true, blocked = true;
  for (int i = 0; i < kNormTensors; ++i) {
    TensorType image = *tensors[i];
    if (image.shape.rank() != 4) image.shape = {p.images, p.channels, 1, p.pixels};
    p.at[i] = ImageLayout(image);
    even = even && (image.shape[2] == 1 || p.at[i].step.h == image.shape[3] * p.at[i].block);
    blocked = blocked && p.at[i].blocked();
    if (static_cast<size_t>(i) < request.outputs.size()) p.types[i] = request.outputs[i];
  }
  if (!even) {
    p.rows = x.shape[2];
    p.pixels = x.shape[3];
  }
  if (blocked) p.lanes = kNormBlock;
  return p;
}

// Returns a kernel that calls run(code, args), with the code for the problem's lanes.
template <typename Run>
KernelList KernelOf(absl::string_view name, const TrainingProblem& p, const Run& run) {
  return OnlyKernel(
      absl::StrCat(name, ":", Name(p.isa)),
      [p, run](const KernelArgs& args) {
        p.lanes == 1 ? run(NormCode<1>::For(p.isa, p.form), args)
                     : run(NormCode<kNormBlock>::For(p.isa, p.form), args);
      },
      p.workspace_bytes());
}

absl::StatusOr<KernelList> MakeTraining(const BatchNormTraining& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[BatchNormTraining::kX];
  const TrainingProblem p = ReadProblem(request, x, x, request.outputs[0], op.param().epsilon);
  return KernelOf("batch_norm_training", p,
                  [p](const auto& code, const KernelArgs& args) { Normalise(p, code, args); });
}

absl::StatusOr<KernelList> MakeStatistics(const BatchNormStatistics&,
                                          const KernelRequest& request) {
  using Op = BatchNormStatistics;
  const TensorType& x = request.inputs[0];
  const TrainingProblem p = ReadProblem(request, x, x, x, /*epsilon=*/0);
  return KernelOf("batch_norm_statistics", p, [p](const auto& code, const KernelArgs& args) {
    FindStatistics(p, code, args, args.Output<float>(Op::kMean), args.Output<float>(Op::kVariance));
    for (const int i : {Op::kMean, Op::kVariance}) {
      ZeroChannelPadding(p.types[i], args.outputs[i]);
    }
  });
}

absl::StatusOr<KernelList> MakeApply(const BatchNormApply& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[BatchNormApply::kX];
  const bool adds = request.inputs.size() > BatchNormApply::kAddend;
  TrainingProblem p = ReadProblem(request, x, adds ? request.inputs[BatchNormApply::kAddend] : x,
                                  request.outputs[0], op.param().epsilon);
  p.form = {.bounded = op.param().rectified, .adds = adds};
  p.most = static_cast<float>(UpperBound(op.param().most));
  return KernelOf("batch_norm_apply", p, [p](const auto& code, const KernelArgs& args) {
    MakeY(p, code, args.Input<float>(BatchNormApply::kMean),
          args.Input<float>(BatchNormApply::kVariance), args);
    if (p.lanes == 1) ZeroChannelPadding(p.types[0], args.outputs[0]);
  });
}

absl::StatusOr<KernelList> MakeBackward(const BatchNormBackward& op, const KernelRequest& request) {
  TrainingProblem p =
      ReadProblem(request, request.inputs[BatchNormBackward::kX],
                  request.inputs[BatchNormBackward::kDiff], request.outputs[0], op.param().epsilon);
  p.form.masked = request.inputs.size() > BatchNormBackward::kBias;
  p.most = static_cast<float>(UpperBound(op.param().most));
  return KernelOf("batch_norm_grad", p,
                  [p](const auto& code, const KernelArgs& args) { GoBack(p, code, args); });
}

}  // namespace

void RegisterBatchNormTrainingKernels(KernelRegistry& registry) {
  registry.Register<BatchNormTraining>(MakeTraining, {DType::kFloat32});
  registry.Register<BatchNormStatistics>(MakeStatistics, {DType::kFloat32});
  registry.Register<BatchNormApply>(MakeApply, {DType::kFloat32});
  registry.Register<BatchNormBackward>(MakeBackward, {DType::kFloat32});
}

}  // namespace ashlar::cpu

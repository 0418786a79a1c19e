// BatchNormTraining, its two halves, and BatchNormBackward: sums of each channel, then what follows
// from them for each element. Images are taken in a few parts, whichever threads there are;
// stretches of a plane are summed in Float32 and joined in double. Mean and variance of a stretch
// are found around its own mean, and joined by (count, mean, sum of squared differences) (Chan,
// Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance").
#include "opr/batch_norm_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/region.h"
#include "runtime/cpu/half_block.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int kBlock = static_cast<int>(kChannelBlock);
constexpr int64_t kStretch = 256;  // pixels that are summed in Float32
constexpr int64_t kMostParts = 4;  // of the images
constexpr int kMostTensors = 3;

// The coefficients with which the elements of a channel are made.
enum Coefficient { kMean, kOfX, kOfDiff, kPlus, kFactor, kBias, kMost, kCoefficients };

// Tensors of one shape [N, C, ...], and the statistics of their channels.
struct Problem {
  int64_t images = 0, channels = 0;
  int64_t lanes = 1;             // channels that are worked on together
  int64_t rows = 1, pixels = 0;  // of a plane; one row, where planes are contiguous
  ImageLayout at[kMostTensors];  // x and the tensor made of it; then the third
  double epsilon = 0;
  bool masked = false;  // by an activation, which lets through more than 0 and less than `most`
  float most = 0;
  int threads = 1;
  Isa isa = Isa::kBaseline;
  TensorType types[kMostTensors];  // of the outputs

  int64_t blocks() const { return CeilDivide(channels, lanes); }
  int64_t padded() const { return blocks() * lanes; }
  int64_t parts() const { return std::min(images, kMostParts); }
  double count() const { return static_cast<double>(images * rows * pixels); }
  // Two sums for each channel and part, then its coefficients.
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

// Some pixels of up to three tensors, for kLanes channels: step[i] from pixel to pixel.
struct Stretch {
  const float* from[2];
  float* to;
  int64_t step[kMostTensors];
  int64_t pixels;
};

// Calls visit(stretch) for the elements of image `n` in a block.
template <typename Visit>
void ForEachStretch(const Problem& p, const float* const (&from)[2], float* to, int64_t n,
                    int64_t block, const Visit& visit) {
  const int64_t c = block * p.lanes;
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t begin = 0; begin < p.pixels; begin += kStretch) {
      Stretch stretch = {};
      for (int i = 0; i < 2; ++i) {
        if (from[i] != nullptr) stretch.from[i] = from[i] + p.at[i].Offset(n, c, row, begin);
        stretch.step[i] = p.at[i].block;
      }
      const ImageLayout& last = p.at[kMostTensors - 1];
      if (to != nullptr) stretch.to = to + last.Offset(n, c, row, begin);
      stretch.step[kMostTensors - 1] = last.block;
      stretch.pixels = std::min(kStretch, p.pixels - begin);
      visit(stretch);
    }
  }
}

constexpr int kWays = 4;  // the halves of two pixels, for the latency of an addition

// Calls add(way, pixel, lane) for the halves of each pixel, sums of a way being added in one order;
// `way` is a constant in each call.
template <typename Add>
[[gnu::always_inline]] inline void ForEachHalf(int64_t pixels, const Add& add) {
  int64_t i = 0;
  for (; i + 1 < pixels; i += 2) {
#pragma GCC unroll 4
    for (int way = 0; way < kWays; ++way) add(way, i + way / 2, way % 2 * kHalf);
  }
  if (i < pixels) {
#pragma GCC unroll 2
    for (int way = 0; way < 2; ++way) add(way, i, way * kHalf);
  }
}

[[gnu::always_inline]] inline void StoreSums(const Half (&sums)[kWays], float* to) {
  At(to) = sums[0] + sums[2];
  At(to + kHalf) = sums[1] + sums[3];
}

// By lane, the sum over pixels of x.
void SumBlocks(const float* x, int64_t step, int64_t pixels, float* sums) {
  Half ways[kWays] = {};
  ForEachHalf(
      pixels, [&](int way, int64_t i, int lane)
                  __attribute__((always_inline)) { ways[way] += At(x + i * step + lane); });
  StoreSums(ways, sums);
}

// By lane, the sums of x's differences to `centre`, and of their squares.
void SumSquares(const float* x, int64_t step, int64_t pixels, const float* centre, float* sums,
                float* squares) {
  Half of_differences[kWays] = {}, of_squares[kWays] = {};
  const Half centres[2] = {At(centre), At(centre + kHalf)};
  ForEachHalf(
      pixels, [&](int way, int64_t i, int lane) __attribute__((always_inline)) {
        const Half difference = At(x + i * step + lane) - centres[way % 2];
        of_differences[way] += difference;
        of_squares[way] += difference * difference;
      });
  StoreSums(of_differences, sums);
  StoreSums(of_squares, squares);
}

// The coefficients of a block's halves.
struct HalfCoefficients {
  [[gnu::always_inline]] explicit HalfCoefficients(const float* c) {
#pragma GCC unroll 16
    for (int i = 0; i < 2 * kCoefficients; ++i) of[i / 2][i % 2] = At(c + i * kHalf);
  }
  // Zeroes diff where an activation lets nothing through of y, which the norm makes of x.
  [[gnu::always_inline]] void Mask(const Half& x, int half, Half& diff) const {
    const Half y = (x - of[kMean][half]) * of[kFactor][half] + of[kBias][half];
    diff = (y > Half{}) & (y < of[kMost][half]) ? diff : Half{};
  }
  Half of[kCoefficients][2];
};

// The same of one channel, whose coefficients are kLanes apart.
template <int kLanes>
float Masked(const float* c, float x, float diff) {
  const float y = (x - c[kMean * kLanes]) * c[kFactor * kLanes] + c[kBias * kLanes];
  return y > 0 && y < c[kMost * kLanes] ? diff : 0;
}

// By lane, the sums of diff, and of diff times x's difference to the mean.
template <bool kMasked>
void SumProducts(const float* x, int64_t x_step, const float* diff, int64_t diff_step,
                 int64_t pixels, const float* coefficients, float* sums, float* products) {
  Half of_diff[kWays] = {}, of_products[kWays] = {};
  const HalfCoefficients c(coefficients);
  ForEachHalf(
      pixels, [&](int way, int64_t i, int lane) __attribute__((always_inline)) {
        const Half value = At(x + i * x_step + lane);
        Half g = At(diff + i * diff_step + lane);
        if constexpr (kMasked) c.Mask(value, way % 2, g);
        of_diff[way] += g;
        of_products[way] += g * (value - c.of[kMean][way % 2]);
      });
  StoreSums(of_diff, sums);
  StoreSums(of_products, products);
}

// The sum of 16 lanes.
float SumOf(const float* lanes) {
  float sum = 0;
  for (int l = 0; l < kBlock; ++l) sum += lanes[l];
  return sum;
}

// How many pixels of single channels stand where those of blocks would: groups of 16, if they lie
// side by side.
int64_t GroupsOf(const Stretch& s, int tensors) {
  for (int i = 0; i < tensors; ++i) {
    if (s.step[i] != 1) return 0;
  }
  return s.pixels / kBlock;
}

// Joins a stretch to the moments of the `count` elements before it: mean[l] and squares[l], the sum
// of squared differences to it.
template <int kLanes>
void AddMoments(const Stretch& s, double count, double* mean, double* squares) {
  const float* const x = s.from[0];
  const int64_t step = s.step[0];
  float centre[kBlock], differences[kBlock], of_squares[kBlock];
  const float share = 1 / static_cast<float>(s.pixels);
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, 1);
    SumBlocks(x, kBlock, groups, centre);
    float sum = SumOf(centre);
    for (int64_t i = groups * kBlock; i < s.pixels; ++i) sum += x[i * step];
    std::fill_n(centre, kBlock, sum * share);
    SumSquares(x, kBlock, groups, centre, differences, of_squares);
    differences[0] = SumOf(differences);
    of_squares[0] = SumOf(of_squares);
    for (int64_t i = groups * kBlock; i < s.pixels; ++i) {
      const float difference = x[i * step] - centre[0];
      differences[0] += difference;
      of_squares[0] += difference * difference;
    }
  } else {
    SumBlocks(x, step, s.pixels, centre);
    for (float& c : centre) c *= share;
    SumSquares(x, step, s.pixels, centre, differences, of_squares);
  }
  const double pixels = static_cast<double>(s.pixels), part = pixels / (count + pixels);
  for (int l = 0; l < kLanes; ++l) {
    const double rest = differences[l] / pixels;  // of the mean, which was rounded
    const double apart = centre[l] + rest - mean[l];
    squares[l] += of_squares[l] - rest * differences[l] + apart * apart * count * part;
    mean[l] += apart * part;
  }
}

// The coefficients of one channel, for blocks of its pixels.
void RepeatCoefficients(const float* c, float* of_lanes) {
  for (int i = 0; i < kCoefficients; ++i) std::fill_n(of_lanes + i * kBlock, kBlock, c[i]);
}

// Adds a stretch's sums of diff, and of diff times x's difference to the mean.
template <int kLanes, bool kMasked>
void AddProducts(const Stretch& s, const float* c, double* sums, double* products) {
  const float *const x = s.from[0], *const diff = s.from[1];
  float of_diff[kBlock], of_products[kBlock];
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, 2);
    float of_lanes[kCoefficients * kBlock];
    RepeatCoefficients(c, of_lanes);
    SumProducts<kMasked>(x, kBlock, diff, kBlock, groups, of_lanes, of_diff, of_products);
    of_diff[0] = SumOf(of_diff);
    of_products[0] = SumOf(of_products);
    for (int64_t i = groups * kBlock; i < s.pixels; ++i) {
      const float value = x[i * s.step[0]];
      float g = diff[i * s.step[1]];
      if constexpr (kMasked) g = Masked<1>(c, value, g);
      of_diff[0] += g;
      of_products[0] += g * (value - c[kMean]);
    }
  } else {
    SumProducts<kMasked>(x, s.step[0], diff, s.step[1], s.pixels, c, of_diff, of_products);
  }
  for (int l = 0; l < kLanes; ++l) sums[l] += of_diff[l], products[l] += of_products[l];
}

// The results made of x and diff: y of x alone, or the gradient by x, of diff as it is or masked.
enum class Made { kY, kGradient, kMaskedGradient };

// to = (x - mean) * of_x + diff * of_diff + plus, where coefficients have one number a lane. `to`
// may be x or diff.
template <Made kMade>
void MakeBlocks(const Stretch& s, const int64_t (&step)[kMostTensors], int64_t pixels,
                const float* coefficients) {
  const float *x = s.from[0], *diff = s.from[1];
  float* to = s.to;
  const HalfCoefficients c(coefficients);
  for (int64_t i = 0; i < pixels; ++i, x += step[0], to += step[2]) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Half from = At(x + half * kHalf);
      Half value = (from - c.of[kMean][half]) * c.of[kOfX][half] + c.of[kPlus][half];
      if constexpr (kMade != Made::kY) {
        Half g = At(diff + half * kHalf);
        if constexpr (kMade == Made::kMaskedGradient) c.Mask(from, half, g);
        value += g * c.of[kOfDiff][half];
      }
      At(to + half * kHalf) = value;
    }
    if constexpr (kMade != Made::kY) diff += step[1];
  }
}

template <int kLanes, Made kMade>
void MakeElements(const Stretch& s, const float* c) {
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, kMostTensors);
    float of_lanes[kCoefficients * kBlock];
    RepeatCoefficients(c, of_lanes);
    MakeBlocks<kMade>(s, {kBlock, kBlock, kBlock}, groups, of_lanes);
    for (int64_t i = groups * kBlock; i < s.pixels; ++i) {
      const float from = s.from[0][i * s.step[0]];
      float value = (from - c[kMean]) * c[kOfX] + c[kPlus];
      if constexpr (kMade != Made::kY) {
        float g = s.from[1][i * s.step[1]];
        if constexpr (kMade == Made::kMaskedGradient) g = Masked<1>(c, from, g);
        value += g * c[kOfDiff];
      }
      s.to[i * s.step[2]] = value;
    }
  } else {
    MakeBlocks<kMade>(s, s.step, s.pixels, c);
  }
}

template <int kLanes>
struct Code {
  void (*moments)(const Stretch&, double, double*, double*);
  void (*products)(const Stretch&, const float*, double*, double*);
  void (*normalise)(const Stretch&, const float*);
  void (*go_back)(const Stretch&, const float*);

  static Code For(Isa isa, bool masked) {
    return {Versions<AddMoments<kLanes>>::For(isa),
            masked ? Versions<AddProducts<kLanes, true>>::For(isa)
                   : Versions<AddProducts<kLanes, false>>::For(isa),
            Versions<MakeElements<kLanes, Made::kY>>::For(isa),
            masked ? Versions<MakeElements<kLanes, Made::kMaskedGradient>>::For(isa)
                   : Versions<MakeElements<kLanes, Made::kGradient>>::For(isa)};
  }
};

// Calls sum(n, block, part) for the images of each part, in their order, with two parts never
// sharing their sums.
template <typename Sum>
void ForEachImageOfParts(const Problem& p, const Sum& sum) {
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
void ForEachPlane(const Problem& p, const Make& make) {
  const int64_t blocks = p.blocks(), elements = p.rows * p.pixels * p.lanes;
  ParallelFor(p.threads, p.images * blocks, std::max<int64_t>(1, kElementsPerThread / elements),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) make(i / blocks, i % blocks);
              });
}

const float* InputOf(const KernelArgs& args, int i) {
  return static_cast<const float*>(args.inputs[i]);
}
float* OutputOf(const KernelArgs& args, int i) { return static_cast<float*>(args.outputs[i]); }

// The coefficients of lane l of channel c's block.
float* CoefficientsOf(const Problem& p, void* workspace, int64_t c) {
  return p.Coefficients(workspace) + c / p.lanes * p.lanes * kCoefficients + c % p.lanes;
}

float FactorOf(const Problem& p, float scale, float variance) {
  return static_cast<float>(scale / std::sqrt(static_cast<double>(variance) + p.epsilon));
}

// Writes zeros behind the outputs that have one element a channel.
void ZeroPadding(const Problem& p, const KernelArgs& args) {
  for (int i = 0; i < kMostTensors; ++i) {
    if (i > 0 || p.lanes == 1) ZeroChannelPadding(p.types[i], args.outputs[i]);
  }
}

// y of x, by statistics as they are kept.
template <int kLanes>
void MakeY(const Problem& p, const Code<kLanes>& code, const float* mean, const float* variance,
           const KernelArgs& args) {
  using Op = BatchNormTraining;  // BatchNormApply has its x, scale and bias in the same places
  float* const coefficients = p.Coefficients(args.workspace);
  std::fill_n(coefficients, p.padded() * kCoefficients, 0.0f);
  for (int64_t c = 0; c < p.channels; ++c) {
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kMean * kLanes] = mean[c];
    of_channel[kOfX * kLanes] = FactorOf(p, InputOf(args, Op::kScale)[c], variance[c]);
    of_channel[kPlus * kLanes] = InputOf(args, Op::kBias)[c];
  }
  const float* const from[2] = {InputOf(args, Op::kX), nullptr};
  ForEachPlane(p, [&](int64_t n, int64_t block) {
    const float* const c = coefficients + block * kLanes * kCoefficients;
    ForEachStretch(p, from, OutputOf(args, Op::kY), n, block,
                   [&](const Stretch& stretch) { code.normalise(stretch, c); });
  });
}

// Mean and variance of x, which is input 0.
template <int kLanes>
void FindStatistics(const Problem& p, const Code<kLanes>& code, const KernelArgs& args,
                    float* mean_of, float* variance_of) {
  const float* const from[2] = {InputOf(args, BatchNormTraining::kX), nullptr};
  const double of_plane = static_cast<double>(p.rows * p.pixels);
  ForEachImageOfParts(p, [&](const Range& images, int64_t block, int64_t part) {
    double* const mean = p.Sums(args.workspace, part) + block * kLanes;
    double* const squares = mean + p.padded();
    std::fill_n(mean, kLanes, 0.0);
    std::fill_n(squares, kLanes, 0.0);
    double count = 0;
    for (int64_t n = images.begin; n < images.end; ++n) {
      ForEachStretch(p, from, nullptr, n, block, [&](const Stretch& stretch) {
        code.moments(stretch, count, mean, squares);
        count += static_cast<double>(stretch.pixels);
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
void Normalise(const Problem& p, const Code<kLanes>& code, const KernelArgs& args) {
  using Op = BatchNormTraining;
  FindStatistics(p, code, args, OutputOf(args, Op::kMean), OutputOf(args, Op::kVariance));
  MakeY(p, code, OutputOf(args, Op::kMean), OutputOf(args, Op::kVariance), args);
  ZeroPadding(p, args);
}

template <int kLanes>
void GoBack(const Problem& p, const Code<kLanes>& code, const KernelArgs& args) {
  using Op = BatchNormBackward;
  const float* const from[2] = {InputOf(args, Op::kX), InputOf(args, Op::kDiff)};
  const float* const means = InputOf(args, Op::kMean);
  float* const coefficients = p.Coefficients(args.workspace);
  std::fill_n(coefficients, p.padded() * kCoefficients, 0.0f);
  for (int64_t c = 0; c < p.channels; ++c) {
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kMean * kLanes] = means[c];
    if (!p.masked) continue;
    of_channel[kFactor * kLanes] =
        FactorOf(p, InputOf(args, Op::kScale)[c], InputOf(args, Op::kVariance)[c]);
    of_channel[kBias * kLanes] = InputOf(args, Op::kBias)[c];
    of_channel[kMost * kLanes] = p.most;
  }
  ForEachImageOfParts(p, [&](const Range& images, int64_t block, int64_t part) {
    double* const sums = p.Sums(args.workspace, part) + block * kLanes;
    double* const products = sums + p.padded();
    std::fill_n(sums, kLanes, 0.0);
    std::fill_n(products, kLanes, 0.0);
    const float* const c = coefficients + block * kLanes * kCoefficients;
    for (int64_t n = images.begin; n < images.end; ++n) {
      ForEachStretch(p, from, nullptr, n, block,
                     [&](const Stretch& stretch) { code.products(stretch, c, sums, products); });
    }
  });
  for (int64_t c = 0; c < p.channels; ++c) {
    double sum = 0, product = 0;
    for (int64_t part = 0; part < p.parts(); ++part) {
      const double* const sums = p.Sums(args.workspace, part) + c;
      sum += sums[0], product += sums[p.padded()];
    }
    const double variance = InputOf(args, Op::kVariance)[c];
    const double inverse = 1 / std::sqrt(variance + p.epsilon);
    const double factor = InputOf(args, Op::kScale)[c] * inverse;
    float* const of_channel = CoefficientsOf(p, args.workspace, c);
    of_channel[kOfX * kLanes] =
        static_cast<float>(-factor * inverse * inverse * product / p.count());
    of_channel[kOfDiff * kLanes] = static_cast<float>(factor);
    of_channel[kPlus * kLanes] = static_cast<float>(-factor * sum / p.count());
    OutputOf(args, Op::kDScale)[c] = static_cast<float>(product * inverse);
    OutputOf(args, Op::kDBias)[c] = static_cast<float>(sum);
  }
  ForEachPlane(p, [&](int64_t n, int64_t block) {
    const float* const c = coefficients + block * kLanes * kCoefficients;
    ForEachStretch(p, from, OutputOf(args, Op::kDX), n, block,
                   [&](const Stretch& stretch) { code.go_back(stretch, c); });
  });
  ZeroPadding(p, args);
}

// `images` are x, diff (x again where there is none), and the output.
Problem ReadProblem(const KernelRequest& request, const TensorType& x, const TensorType& diff,
                    const TensorType& made, double epsilon) {
  Problem p;
  p.images = x.shape[0];
  p.channels = x.shape[1];
  p.pixels = x.shape.num_elements() / (p.images * p.channels);
  p.epsilon = epsilon;
  p.threads = request.threads;
  p.isa = request.processor.isa;
  const TensorType* const tensors[] = {&x, &diff, &made};
  bool even = true, blocked = true;
  for (int i = 0; i < kMostTensors; ++i) {
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
  if (blocked) p.lanes = kBlock;
  return p;
}

// run(code, args) with the code of the problem's lanes.
template <typename Run>
KernelList KernelOf(absl::string_view name, const Problem& p, const Run& run) {
  return OnlyKernel(
      absl::StrCat(name, ":", Name(p.isa)),
      [p, run](const KernelArgs& args) {
        p.lanes == 1 ? run(Code<1>::For(p.isa, p.masked), args)
                     : run(Code<kBlock>::For(p.isa, p.masked), args);
      },
      p.workspace_bytes());
}

absl::StatusOr<KernelList> MakeTraining(const BatchNormTraining& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[BatchNormTraining::kX];
  const Problem p = ReadProblem(request, x, x, request.outputs[0], op.param().epsilon);
  return KernelOf("batch_norm_training", p,
                  [p](const auto& code, const KernelArgs& args) { Normalise(p, code, args); });
}

absl::StatusOr<KernelList> MakeStatistics(const BatchNormStatistics&,
                                          const KernelRequest& request) {
  using Op = BatchNormStatistics;
  const TensorType& x = request.inputs[0];
  const Problem p = ReadProblem(request, x, x, x, /*epsilon=*/0);
  return KernelOf("batch_norm_statistics", p, [p](const auto& code, const KernelArgs& args) {
    FindStatistics(p, code, args, OutputOf(args, Op::kMean), OutputOf(args, Op::kVariance));
    for (const int i : {Op::kMean, Op::kVariance}) {
      ZeroChannelPadding(p.types[i], args.outputs[i]);
    }
  });
}

absl::StatusOr<KernelList> MakeApply(const BatchNormApply& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[BatchNormApply::kX];
  const Problem p = ReadProblem(request, x, x, request.outputs[0], op.param().epsilon);
  return KernelOf("batch_norm_apply", p, [p](const auto& code, const KernelArgs& args) {
    MakeY(p, code, InputOf(args, BatchNormApply::kMean), InputOf(args, BatchNormApply::kVariance),
          args);
    if (p.lanes == 1) ZeroChannelPadding(p.types[0], args.outputs[0]);
  });
}

absl::StatusOr<KernelList> MakeBackward(const BatchNormBackward& op, const KernelRequest& request) {
  Problem p =
      ReadProblem(request, request.inputs[BatchNormBackward::kX],
                  request.inputs[BatchNormBackward::kDiff], request.outputs[0], op.param().epsilon);
  p.masked = request.inputs.size() > BatchNormBackward::kBias;
  p.most = op.param().most > 0 ? static_cast<float>(op.param().most)
                               : std::numeric_limits<float>::infinity();
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

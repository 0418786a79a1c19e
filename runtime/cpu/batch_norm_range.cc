// Sums short pixel ranges in Float32 and merges them in double. The mean and variance of a range
// are computed around its own mean. They are merged as (count, mean, sum of squared differences),
// after Chan, Golub and LeVeque 1983, "Algorithms for Computing the Sample Variance".
#include "runtime/cpu/batch_norm_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "opr/base/scalar_functions.h"
#include "runtime/cpu/half_block.h"
#include "runtime/cpu/isa.h"

namespace ashlar::cpu {
namespace {

constexpr int kWays = 4;  // half blocks of two pixels, to hide the latency of an addition

// Calls add(way, pixel, lane) for the half blocks of each pixel. `way` is a compile-time constant;
// the additions of each way have a fixed order.
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

// Sums x over pixels, by lane.
void SumBlocks(const float* x, int64_t step, int64_t pixels, float* sums) {
  Half ways[kWays] = {};
  ForEachHalf(
      pixels, [&](int way, int64_t i, int lane)
                  __attribute__((always_inline)) { ways[way] += At(x + i * step + lane); });
  StoreSums(ways, sums);
}

// Sums x - centre and its square over pixels, by lane.
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

// The coefficients of the two halves of a block.
struct HalfCoefficients {
  [[gnu::always_inline]] explicit HalfCoefficients(const float* c) {
#pragma GCC unroll 16
    for (int i = 0; i < 2 * kCoefficients; ++i) of[i / 2][i % 2] = At(c + i * kHalf);
  }
  // Sets diff to zero if the activation clamps y, which is computed from x.
  [[gnu::always_inline]] void Mask(const Half& x, int half, Half& diff) const {
    const Half y = (x - of[kMean][half]) * of[kFactor][half] + of[kBias][half];
    diff = ((y > Half{}) & (y < of[kMost][half])) ? diff : Half{};
  }
  Half of[kCoefficients][2];
};

// The same for one channel, whose coefficients are kLanes apart.
template <int kLanes>
float Masked(const float* c, float x, float diff) {
  const float y = (x - c[kMean * kLanes]) * c[kFactor * kLanes] + c[kBias * kLanes];
  return y > 0 && y < c[kMost * kLanes] ? diff : 0;
}

// Sums diff, and diff * (x - mean), over pixels, by lane.
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

// Returns the sum of 16 lanes.
float SumOf(const float* lanes) {
  float sum = 0;
  for (int l = 0; l < kNormBlock; ++l) sum += lanes[l];
  return sum;
}

// Returns how many groups of 16 adjacent pixels a single channel has, to be computed like blocks; 0
// unless pixels are contiguous.
int64_t GroupsOf(const NormRange& s, int tensors) {
  for (int i = 0; i < tensors; ++i) {
    if (s.step[i] != 1) return 0;
  }
  return s.pixels / kNormBlock;
}

// Merges a range into the moments of the `count` elements before it: mean[l], and squares[l], the
// sum of squared differences from the mean.
template <int kLanes>
void AddMoments(const NormRange& s, double count, double* mean, double* squares) {
  const float* const x = s.from[0];
  const int64_t step = s.step[0];
  float centre[kNormBlock], differences[kNormBlock], of_squares[kNormBlock];
  const float share = 1 / static_cast<float>(s.pixels);
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, 1);
    SumBlocks(x, kNormBlock, groups, centre);
    float sum = SumOf(centre);
    for (int64_t i = groups * kNormBlock; i < s.pixels; ++i) sum += x[i * step];
    std::fill_n(centre, kNormBlock, sum * share);
    SumSquares(x, kNormBlock, groups, centre, differences, of_squares);
    differences[0] = SumOf(differences);
    of_squares[0] = SumOf(of_squares);
    for (int64_t i = groups * kNormBlock; i < s.pixels; ++i) {
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
    const double rest = differences[l] / pixels;  // corrects the rounded mean
    const double apart = centre[l] + rest - mean[l];
    squares[l] += of_squares[l] - rest * differences[l] + apart * apart * count * part;
    mean[l] += apart * part;
  }
}

// Repeats the coefficients of one channel for blocks of its pixels.
void RepeatCoefficients(const float* c, float* of_lanes) {
  for (int i = 0; i < kCoefficients; ++i) std::fill_n(of_lanes + i * kNormBlock, kNormBlock, c[i]);
}

// Adds a range's sum of diff, and its sum of diff * (x - mean).
template <int kLanes, bool kMasked>
void AddNormProducts(const NormRange& s, const float* c, double* sums, double* products) {
  const float *const x = s.from[0], *const diff = s.from[1];
  float of_diff[kNormBlock], of_products[kNormBlock];
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, 2);
    float of_lanes[kCoefficients * kNormBlock];
    RepeatCoefficients(c, of_lanes);
    SumProducts<kMasked>(x, kNormBlock, diff, kNormBlock, groups, of_lanes, of_diff, of_products);
    of_diff[0] = SumOf(of_diff);
    of_products[0] = SumOf(of_products);
    for (int64_t i = groups * kNormBlock; i < s.pixels; ++i) {
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

// The results computed from x and a second tensor, `diff`:
// - y from x alone, or with diff added, each optionally clamped;
// - the gradient by x; if diff is not masked, its formula is kSum.
enum class Made { kY, kBoundedY, kSum, kBoundedSum, kMaskedGradient };
constexpr bool HasDiff(Made made) { return made != Made::kY && made != Made::kBoundedY; }
constexpr bool IsBounded(Made made) { return made == Made::kBoundedY || made == Made::kBoundedSum; }

// Computes to = (x - mean) * of_x + diff * of_diff + plus, with one coefficient per lane. `to` may
// be x or diff.
template <Made kMade>
void MakeBlocks(const NormRange& s, const int64_t (&step)[kNormTensors], int64_t pixels,
                const float* coefficients) {
  const float *x = s.from[0], *diff = s.from[1];
  float* to = s.to;
  const HalfCoefficients c(coefficients);
  for (int64_t i = 0; i < pixels; ++i, x += step[0], to += step[2]) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Half from = At(x + half * kHalf);
      Half value = (from - c.of[kMean][half]) * c.of[kOfX][half] + c.of[kPlus][half];
      if constexpr (HasDiff(kMade)) {
        Half g = At(diff + half * kHalf);
        if constexpr (kMade == Made::kMaskedGradient) c.Mask(from, half, g);
        value += g * c.of[kOfDiff][half];
      }
      if constexpr (IsBounded(kMade)) {  // formulas::Clamp
        const Half raised = value < Half{} ? Half{} : value;
        value = raised > c.of[kMost][half] ? c.of[kMost][half] : raised;
      }
      At(to + half * kHalf) = value;
    }
    if constexpr (HasDiff(kMade)) diff += step[1];
  }
}

template <int kLanes, Made kMade>
void MakeElements(const NormRange& s, const float* c) {
  if constexpr (kLanes == 1) {
    const int64_t groups = GroupsOf(s, kNormTensors);
    float of_lanes[kCoefficients * kNormBlock];
    RepeatCoefficients(c, of_lanes);
    MakeBlocks<kMade>(s, {kNormBlock, kNormBlock, kNormBlock}, groups, of_lanes);
    for (int64_t i = groups * kNormBlock; i < s.pixels; ++i) {
      const float from = s.from[0][i * s.step[0]];
      float value = (from - c[kMean]) * c[kOfX] + c[kPlus];
      if constexpr (HasDiff(kMade)) {
        float g = s.from[1][i * s.step[1]];
        if constexpr (kMade == Made::kMaskedGradient) g = Masked<1>(c, from, g);
        value += g * c[kOfDiff];
      }
      if constexpr (IsBounded(kMade)) value = formulas::Clamp(value, 0.0f, c[kMost]);
      s.to[i * s.step[2]] = value;
    }
  } else {
    MakeBlocks<kMade>(s, s.step, s.pixels, c);
  }
}

}  // namespace

template <int kLanes>
NormCode<kLanes> NormCode<kLanes>::For(Isa isa, const NormForm& form) {
  const auto y = NarrowVersions<MakeElements<kLanes, Made::kY>>::For(isa);
  const auto bounded = NarrowVersions<MakeElements<kLanes, Made::kBoundedY>>::For(isa);
  const auto sum = NarrowVersions<MakeElements<kLanes, Made::kSum>>::For(isa);
  const auto bounded_sum = NarrowVersions<MakeElements<kLanes, Made::kBoundedSum>>::For(isa);
  return {
      NarrowVersions<AddMoments<kLanes>>::For(isa),
      form.masked ? NarrowVersions<AddNormProducts<kLanes, true>>::For(isa)
                  : NarrowVersions<AddNormProducts<kLanes, false>>::For(isa),
      form.adds ? (form.bounded ? bounded_sum : sum) : (form.bounded ? bounded : y),
      form.masked ? NarrowVersions<MakeElements<kLanes, Made::kMaskedGradient>>::For(isa) : sum};
}

template struct NormCode<1>;
template struct NormCode<kNormBlock>;

}  // namespace ashlar::cpu

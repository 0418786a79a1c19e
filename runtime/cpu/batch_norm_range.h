// Sums and results for a short range of pixels of one plane, for batch norm in
// training.
#ifndef ASHLAR_RUNTIME_CPU_BATCH_NORM_RANGE_H_
#define ASHLAR_RUNTIME_CPU_BATCH_NORM_RANGE_H_

#include <cstdint>

#include "runtime/cpu/image_layout.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline constexpr int kNormBlock = static_cast<int>(kChannelBlock);
inline constexpr int64_t kMostRange = 256;  // pixels that are summed in Float32
inline constexpr int kNormTensors = 3;      // x and two others

// The coefficients of the formulas below. For several channels they are stored by coefficient, then
// by lane.
enum NormCoefficient { kMean, kOfX, kOfDiff, kPlus, kFactor, kBias, kMost, kCoefficients };

// A range of pixels in up to three tensors, for kLanes channels. step[i] is the step between pixels
// of tensor i.
struct NormRange {
  const float* from[2];
  float* to;
  int64_t step[kNormTensors];
  int64_t pixels;
};

// The operations fused with the norm: optionally, the addition of a second tensor, then an
// activation that clamps to [0, kMost].
struct NormForm {
  bool masked = false;   // diff counts only if y lies within the bounds
  bool bounded = false;  // y is clamped to the bounds
  bool adds = false;
};

// The functions that process a range of pixels, for one instruction set; kLanes is 1 or kNormBlock.
// Sums are by lane.
template <int kLanes>
struct NormCode {
  // Merges the range into the moments of the `count` elements before it: mean[l], and squares[l],
  // the sum of squared differences from the mean.
  void (*moments)(const NormRange&, double count, double* mean, double* squares);
  // Adds the range's sum of diff, and its sum of diff times (x - mean).
  void (*products)(const NormRange&, const float* coefficients, double* sums, double* products);
  // `normalise` computes y from x and the addend; `go_back` computes the gradient by x from x and
  // diff.
  void (*normalise)(const NormRange&, const float* coefficients);
  void (*go_back)(const NormRange&, const float* coefficients);

  static NormCode For(Isa isa, const NormForm& form);
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_BATCH_NORM_RANGE_H_

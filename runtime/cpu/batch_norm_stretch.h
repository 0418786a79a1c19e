// The sums and results of a stretch of a batch norm's plane, in training.
#ifndef ASHLAR_RUNTIME_CPU_BATCH_NORM_STRETCH_H_
#define ASHLAR_RUNTIME_CPU_BATCH_NORM_STRETCH_H_

#include <cstdint>

#include "runtime/cpu/image_layout.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline constexpr int kNormBlock = static_cast<int>(kChannelBlock);
inline constexpr int64_t kMostStretch = 256;  // pixels that are summed in Float32
inline constexpr int kNormTensors = 3;        // x and two more

// The coefficients with which the elements of a channel are made. Those of several channels lie by
// coefficient, then by lane.
enum NormCoefficient { kMean, kOfX, kOfDiff, kPlus, kFactor, kBias, kMost, kCoefficients };

// Some pixels of up to three tensors, for kLanes channels: step[i] from pixel to pixel.
struct NormStretch {
  const float* from[2];
  float* to;
  int64_t step[kNormTensors];
  int64_t pixels;
};

// What is beside the norm: an activation behind it, which lets through more than 0 and less than
// kMost, before which a second tensor may be added.
struct NormForm {
  bool masked = false;   // the gradient counts where y is within the bounds
  bool bounded = false;  // y is made so
  bool adds = false;
};

// Functions of a stretch, for the code of an instruction set; kLanes is 1 or kNormBlock. Sums are
// by lane.
template <int kLanes>
struct NormCode {
  // Joins it to the moments of the `count` elements before it: mean[l] and squares[l], the sum of
  // squared differences to it.
  void (*moments)(const NormStretch&, double count, double* mean, double* squares);
  // Adds its sums of diff, and of diff times x's difference to the mean.
  void (*products)(const NormStretch&, const float* coefficients, double* sums, double* products);
  // Makes y of x and the addend, and the gradient by x of x and diff.
  void (*normalise)(const NormStretch&, const float* coefficients);
  void (*go_back)(const NormStretch&, const float* coefficients);

  static NormCode For(Isa isa, const NormForm& form);
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_BATCH_NORM_STRETCH_H_

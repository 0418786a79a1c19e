// How the activation of a convolution follows its sums in blocked images.
#ifndef ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_
#define ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_

#include <cstdint>

#include "opr/conv_bias.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// The function that the innermost code applies to its sums: the activation, or none where its
// formula is more than arithmetic.
ConvFinish FinishOf(const ConvBiasParam& param);

// An activation of values in memory; false where there is nothing to do.
class BlockActivation {
 public:
  BlockActivation(const ConvBiasParam& param, Isa isa);
  // The rest that FinishOf leaves.
  static BlockActivation BehindFinish(const ConvBiasParam& param, Isa isa);

  explicit operator bool() const { return function_ != nullptr; }
  // Applies it to the first `channels` channels of a block at `pixels` pixels, `step` bytes apart.
  void operator()(char* block, int64_t pixels, int64_t step, int channels) const {
    if (function_ != nullptr) function_(block, pixels, step, channels, call_);
  }

 private:
  BlockActivation() = default;

  using Function = void (*)(char*, int64_t, int64_t, int, const ConvFinish&);
  Function function_ = nullptr;
  ConvFinish call_;
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_

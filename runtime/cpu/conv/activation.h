// How a convolution on blocked images applies its activation to its sums.
#ifndef ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_
#define ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_

#include <cstdint>

#include "opr/conv_bias.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Returns the function that the innermost code applies to its sums: the activation, or the identity
// if the formula needs more than arithmetic.
ConvFinish FinishOf(const ConvBiasParam& param);

// An activation of values in memory; converts to false if there is nothing to do.
class BlockActivation {
 public:
  BlockActivation(const ConvBiasParam& param, Isa isa);
  // Returns the activation if FinishOf could not take it, otherwise one that does nothing.
  static BlockActivation BehindFinish(const ConvBiasParam& param, Isa isa);

  explicit operator bool() const { return function_ != nullptr; }
  // Applies the activation to the first `channels` channels of a block, for `pixels` pixels, `step`
  // bytes apart.
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

// How the activation of a convolution follows its sums in blocked images.
#ifndef ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_
#define ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_

#include <cstdint>

#include "opr/conv_bias.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// What the innermost code does with its sums.
ConvFinish FinishOf(const ConvBiasParam& param);
// Whether what was stored has to go through ApplySigmoid then.
inline bool HasSigmoid(const ConvBiasParam& param) {
  return param.nonlineMode == Activation::kSigmoid;
}

// Applies the sigmoid to the first `channels` channels of a block at `pixels` pixels, `step` bytes
// apart.
void ApplySigmoid(Isa isa, char* block, int64_t pixels, int64_t step, int channels);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_ACTIVATION_H_

// Where the tensors of a convolution lie during a run.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_
#define ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_

#include "opr/conv_bias.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// `weights` as they are given or packed; `bias` and `z` are null where there are none.
struct ConvTensors {
  const char *src, *weights, *z;
  const float* bias;
  char* dst;
};

inline ConvTensors ConvTensorsOf(const KernelArgs& args, bool has_bias, bool has_z) {
  const auto input = [&](int i) { return static_cast<const char*>(args.inputs[i]); };
  return {
      .src = input(ConvBiasForward::kSrc),
      .weights = input(ConvBiasForward::kFilter),
      .z = has_z ? input(ConvBiasForward::kZ) : nullptr,
      .bias = has_bias ? static_cast<const float*>(args.inputs[ConvBiasForward::kBias]) : nullptr,
      .dst = static_cast<char*>(args.outputs[0])};
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_

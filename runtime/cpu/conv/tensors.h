// The addresses of a convolution's tensors during a run.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_
#define ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_

#include <algorithm>

#include "opr/conv_bias.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/float16.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// The pointers of a run. `weights` are packed or in their original layout. `bias` and `z` may be
// null. `bias` has the dtype of the images.
struct ConvTensors {
  const char *src, *weights, *z, *bias;
  char* dst;
};

inline StoredFloat StoredFloatOf(DType dtype) {
  return dtype == DType::kFloat16    ? StoredFloat::kFloat16
         : dtype == DType::kBFloat16 ? StoredFloat::kBFloat16
                                     : StoredFloat::kFloat32;
}

// Copies bias values [first, first + count) as Float32. `widen` is null if they are Float32.
inline void CopyBias(const char* bias, WidenFunction widen, int64_t first, int64_t count,
                     float* to) {
  if (widen != nullptr) {
    widen(reinterpret_cast<const uint16_t*>(bias) + first, to, count);
  } else {
    std::copy_n(reinterpret_cast<const float*>(bias) + first, count, to);
  }
}

inline ConvTensors ConvTensorsOf(const KernelArgs& args, bool has_bias, bool has_z) {
  const auto input = [&](int i) { return static_cast<const char*>(args.inputs[i]); };
  return {.src = input(ConvBiasForward::kSrc),
          .weights = input(ConvBiasForward::kFilter),
          .z = has_z ? input(ConvBiasForward::kZ) : nullptr,
          .bias = has_bias ? input(ConvBiasForward::kBias) : nullptr,
          .dst = static_cast<char*>(args.outputs[0])};
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TENSORS_H_

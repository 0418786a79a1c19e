// Conversions to another dtype, one thread per element or pack. Compiles for the host and for
// devices.
#ifndef ASHLAR_RUNTIME_CUDA_TYPE_CVT_CODE_H_
#define ASHLAR_RUNTIME_CUDA_TYPE_CVT_CODE_H_

#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// The parameters of a conversion from in to out. Operand 0 of the walk is the output.
struct ConvertParams {
  Walk<2> walk;
  Scalar from = Scalar::kFloat32, to = Scalar::kFloat32;
  int pack = 1;  // adjacent floats per thread
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const ConvertParams& params, void* stream);

template <typename Real>
ASHLAR_HD void ConvertAt(const ConvertParams& p, int64_t number) {
  int64_t at[2];
  Locate(p.walk, number, at);
  const auto value = LoadAs<Real>(p.from, p.in, at[1]);
  if constexpr (std::is_same_v<Real, WrappingInt>) {
    // Rounds to the nearest Float32; a 16-bit dtype rounds once more.
    if (!HoldsIntegers(p.to)) {
      return StoreAs<float>(p.to, p.out, at[0], static_cast<float>(value.value));
    }
  }
  StoreAs(p.to, p.out, at[0], value);
}

template <typename From, typename To, int kPack>
ASHLAR_HD void ConvertPackAt(const ConvertParams& p, int64_t number) {
  const Pack<From, kPack> in = static_cast<const Pack<From, kPack>*>(p.in)[number];
  Pack<To, kPack> out;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) FromFloat(ToFloat(in.values[i]), out.values[i]);
  static_cast<Pack<To, kPack>*>(p.out)[number] = out;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TYPE_CVT_CODE_H_

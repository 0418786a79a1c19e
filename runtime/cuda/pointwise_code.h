// Chains of scalar functions over tensors. Compiles for the host and for devices. Functions named
// ...At do the work of one thread.
#ifndef ASHLAR_RUNTIME_CUDA_POINTWISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_POINTWISE_CODE_H_

#include <cstdint>

#include "opr/base/scalar_functions.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// A scalar function with its parameters.
struct ScalarCall {
  ScalarFunction function = ScalarFunction::kIdentity;
  double parameters[ScalarRow::kMostParameters] = {};
};

// Applies an activation, which has one argument.
ASHLAR_HD float Activate(const ScalarCall& call, float x) {
  return Apply(call.function, x, static_cast<float>(call.parameters[0]),
               static_cast<float>(call.parameters[1]));
}

inline constexpr int kMaxInputs = 7;
inline constexpr int kMaxSteps = 12;

// A function of a chain. Arguments are input numbers; kChained is the chain's value so far, and
// kParameter - i is parameter i of the call.
struct ChainStep {
  static constexpr int8_t kChained = -1, kParameter = -2;
  ScalarCall call;
  int8_t a = kChained, b = kChained, c = kChained;
};

// The parameters of a chain: out = its value, which starts as input 0. Operand 0 of the walk is the
// output, operand k + 1 is input k; all have one dtype. The innermost axis counts packs of `pack`
// elements, along which an input is either contiguous or constant.
struct ChainParams {
  Walk<kMaxInputs + 1> walk;
  Scalar dtype = Scalar::kFloat32;
  int pack = 1;
  int inputs = 0;
  int steps = 0;
  bool contiguous[kMaxInputs] = {};  // by input, if pack > 1
  ChainStep chain[kMaxSteps];
  const void* in[kMaxInputs] = {};
  void* out = nullptr;
};
LaunchError Launch(const ChainParams& params, void* stream);

template <typename Real, typename Load>
ASHLAR_HD Real Argument(const ChainStep& step, int8_t index, Real chained, const Load& load) {
  if (index >= 0) return load(index);
  return index == ChainStep::kChained
             ? chained
             : ParameterAs<Real>(step.call.parameters[ChainStep::kParameter - index]);
}

// Computes one element of any dtype, in Real.
template <typename Real>
ASHLAR_HD void ChainAt(const ChainParams& p, int64_t number) {
  int64_t at[kMaxInputs + 1];
  Locate(p.walk, number, at);
  const auto load = [&](int input) {
    int64_t offset = 0;
    ASHLAR_UNROLL
    for (int k = 0; k < kMaxInputs; ++k) offset = k == input ? at[k + 1] : offset;
    return LoadAs<Real>(p.dtype, p.in[input], offset);
  };
  Real value = load(0);
  for (int s = 0; s < p.steps; ++s) {
    const ChainStep& step = p.chain[s];
    value = Apply(step.call.function, Argument(step, step.a, value, load),
                  Argument(step, step.b, value, load), Argument(step, step.c, value, load));
  }
  StoreAs(p.dtype, p.out, at[0], value);
}

// Computes a pack of kPack elements of type T, in Float32.
template <typename T, int kPack>
ASHLAR_HD void ChainPackAt(const ChainParams& p, int64_t number) {
  using Elements = Pack<T, kPack>;
  int64_t at[kMaxInputs + 1];
  Locate(p.walk, number, at);
  const auto load = [&](int input, float(&to)[kPack]) {
    int64_t offset = 0;
    ASHLAR_UNROLL
    for (int k = 0; k < kMaxInputs; ++k) offset = k == input ? at[k + 1] : offset;
    const T* const from = static_cast<const T*>(p.in[input]) + offset;
    if (p.contiguous[input]) {
      const Elements elements = *reinterpret_cast<const Elements*>(from);
      ASHLAR_UNROLL
      for (int i = 0; i < kPack; ++i) to[i] = ToFloat(elements.values[i]);
    } else {
      const float value = ToFloat(*from);
      ASHLAR_UNROLL
      for (int i = 0; i < kPack; ++i) to[i] = value;
    }
  };
  float value[kPack], a[kPack], b[kPack], c[kPack];
  load(0, value);
  const auto argument = [&](const ChainStep& step, int8_t index, float(&to)[kPack]) {
    if (index >= 0) return load(index, to);
    const bool chained = index == ChainStep::kChained;
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) {
      to[i] = chained ? value[i]
                      : ParameterAs<float>(step.call.parameters[ChainStep::kParameter - index]);
    }
  };
  for (int s = 0; s < p.steps; ++s) {
    const ChainStep& step = p.chain[s];
    argument(step, step.a, a);
    argument(step, step.b, b);
    argument(step, step.c, c);
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) {
      value[i] = Apply(step.call.function, a[i], b[i], c[i]);
    }
  }
  Elements result;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) FromFloat(value[i], result.values[i]);
  *reinterpret_cast<Elements*>(static_cast<T*>(p.out) + at[0]) = result;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POINTWISE_CODE_H_

// Pointwise kernels: chains of scalar functions, conversions and copies. Compiles for the host and
// for devices: the functions called ...At do the work of one thread.
#ifndef ASHLAR_RUNTIME_CUDA_POINTWISE_H_
#define ASHLAR_RUNTIME_CUDA_POINTWISE_H_

#include <cmath>
#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// The modes of opr/elemwise.h, in their order.
enum class Function : uint8_t {
  kRelu,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kNegate,
  kSigmoid,
  kTanh,
  kClamp,
  kHSwish,
  kAdd,
  kSub,
  kMul,
  kTrueDiv,
  kMax,
  kMin,
  kPow,
  kFuseAddRelu,
  kFuseAddSigmoid,
  kFuseAddTanh,
  kFuseMulAdd3,
};

template <typename Real>
ASHLAR_HD Real Relu(Real x) {
  return x < 0 ? 0 : x;  // hands a NaN on, as do the comparisons below
}

template <typename Real>
ASHLAR_HD Real Sigmoid(Real x) {
  return 1 / (1 + exp(-x));
}

template <typename Real>
ASHLAR_HD Real Apply(Function function, Real a, Real b, Real c, Real lo, Real hi) {
  switch (function) {
    case Function::kRelu:
      return Relu(a);
    case Function::kExp:
      return exp(a);
    case Function::kLog:
      return log(a);
    case Function::kSqrt:
      return sqrt(a);
    case Function::kAbs:
      return fabs(a);
    case Function::kNegate:
      return -a;
    case Function::kSigmoid:
      return Sigmoid(a);
    case Function::kTanh:
      return tanh(a);
    case Function::kClamp:
      return a < lo ? lo : a > hi ? hi : a;
    case Function::kHSwish:
      return a < -3 ? 0 : a > 3 ? a : a * (a + 3) / 6;
    case Function::kAdd:
      return a + b;
    case Function::kSub:
      return a - b;
    case Function::kMul:
      return a * b;
    case Function::kTrueDiv:
      return a / b;
    case Function::kMax:
      return a < b || b != b ? b : a;
    case Function::kMin:
      return b < a || b != b ? b : a;
    case Function::kPow:
      return pow(a, b);
    case Function::kFuseAddRelu:
      return Relu(a + b);
    case Function::kFuseAddSigmoid:
      return Sigmoid(a + b);
    case Function::kFuseAddTanh:
      return tanh(a + b);
    case Function::kFuseMulAdd3:
      return a * b + c;
  }
  return a;
}

inline constexpr int kMaxInputs = 7;
inline constexpr int kMaxSteps = 12;

// One function of a chain. Arguments are numbers of inputs; kChained stands for the value that the
// chain has so far.
struct ChainStep {
  static constexpr int8_t kChained = -1;
  Function function = Function::kRelu;
  int8_t a = kChained, b = kChained, c = kChained;
  float lo = 0, hi = 0;
};

// out = the value of the chain, which begins as input 0. Operand 0 of the walk is the output,
// operand k + 1 is input k; all are of one dtype. The innermost axis is counted in packs of `pack`
// elements: an input is contiguous along it, or else constant.
struct ChainParams {
  Walk<kMaxInputs + 1> walk;
  Scalar dtype = Scalar::kFloat32;
  int pack = 1;
  int inputs = 0;
  int steps = 0;
  bool contiguous[kMaxInputs] = {};  // by input, where pack > 1
  ChainStep chain[kMaxSteps];
  const void* in[kMaxInputs] = {};
  void* out = nullptr;
};

template <typename Real, typename Load>
ASHLAR_HD Real Argument(int8_t index, Real chained, const Load& load) {
  return index == ChainStep::kChained ? chained : load(index);
}

// One element, of whatever dtype, computed in Real.
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
    value = Apply<Real>(step.function, Argument(step.a, value, load), Argument(step.b, value, load),
                        Argument(step.c, value, load), step.lo, step.hi);
  }
  StoreAs<Real>(p.dtype, p.out, at[0], value);
}

// A pack of kPack elements of type T, computed in Float32.
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
  const auto argument = [&](int8_t index, float(&to)[kPack]) {
    if (index != ChainStep::kChained) return load(index, to);
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) to[i] = value[i];
  };
  for (int s = 0; s < p.steps; ++s) {
    const ChainStep& step = p.chain[s];
    argument(step.a, a);
    argument(step.b, b);
    argument(step.c, c);
    ASHLAR_UNROLL
    for (int i = 0; i < kPack; ++i) {
      value[i] = Apply<float>(step.function, a[i], b[i], c[i], step.lo, step.hi);
    }
  }
  Elements result;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) FromFloat(value[i], result.values[i]);
  *reinterpret_cast<Elements*>(static_cast<T*>(p.out) + at[0]) = result;
}

// out = in, in another dtype. Operand 0 of the walk is the output.
struct ConvertParams {
  Walk<2> walk;
  Scalar from = Scalar::kFloat32, to = Scalar::kFloat32;
  int pack = 1;  // elements of contiguous floats that a thread converts
  const void* in = nullptr;
  void* out = nullptr;
};

template <typename Real>
ASHLAR_HD void ConvertAt(const ConvertParams& p, int64_t number) {
  int64_t at[2];
  Locate(p.walk, number, at);
  StoreAs<Real>(p.to, p.out, at[0], LoadAs<Real>(p.from, p.in, at[1]));
}

template <typename From, typename To, int kPack>
ASHLAR_HD void ConvertPackAt(const ConvertParams& p, int64_t number) {
  const Pack<From, kPack> in = static_cast<const Pack<From, kPack>*>(p.in)[number];
  Pack<To, kPack> out;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) FromFloat(ToFloat(in.values[i]), out.values[i]);
  static_cast<Pack<To, kPack>*>(p.out)[number] = out;
}

// Copies of elements of `element` bytes (1, 2, 4, 8 or 16), from one or more tensors into one.
// Operand 0 of a walk is the output.
inline constexpr int kMaxParts = 6;
struct CopyParams {
  int parts = 0;
  int element = 4;
  int64_t most_elements = 0;  // of a part
  Walk<2> walk[kMaxParts];
  const void* in[kMaxParts] = {};
  void* out = nullptr;
};

template <typename Word>
ASHLAR_HD void CopyAt(const CopyParams& p, int part, int64_t number) {
  if (number >= p.walk[part].extents.elements) return;
  int64_t at[2];
  Locate(p.walk[part], number, at);
  static_cast<Word*>(p.out)[at[0]] = static_cast<const Word*>(p.in[part])[at[1]];
}

// A few integers that are known at planning.
struct WriteParams {
  int count = 0;
  int32_t values[kMaxRank] = {};
  int32_t* out = nullptr;
};
ASHLAR_HD void WriteAt(const WriteParams& p, int number) { p.out[number] = p.values[number]; }

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POINTWISE_H_

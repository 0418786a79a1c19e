// Vectors of a block of 16 channels, for the files that are compiled once an instruction set. All
// is in an unnamed namespace, so that no other file can be given their code.
#ifndef ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_
#define ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_

#include <utility>

#include "runtime/cpu/conv/tile.h"

namespace ashlar::cpu {
namespace {

constexpr int kBlock = 16;  // channels

// Whether vectors of kWidth floats can be run here; others are planned for only.
#if defined(__x86_64__)
template <int kWidth>
constexpr bool kRunsVectorsOf = true;
#else
template <int kWidth>
constexpr bool kRunsVectorsOf = kWidth == 4;
#endif

// kWidth floats a vector.
template <int kWidth>
struct VectorOf;
template <>
struct VectorOf<16> {
  typedef float Type __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct VectorOf<8> {
  typedef float Type __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct VectorOf<4> {
  typedef float Type __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
};

template <int kWidth>
struct Vectors {
  using Vector = typename VectorOf<kWidth>::Type;
  using Unaligned = typename VectorOf<kWidth>::Unaligned;
  static constexpr int kBytes = kWidth * 4;

  [[gnu::always_inline]] static Vector Load(const char* from) {
    return *reinterpret_cast<const Unaligned*>(from);
  }
  [[gnu::always_inline]] static void Store(Vector value, char* to) {
    *reinterpret_cast<Unaligned*>(to) = value;
  }
  [[gnu::always_inline]] static Vector Broadcast(float value) { return value - Vector{}; }

  // The activation, in registers.
  template <int kCount>
  [[gnu::always_inline]] static void Finish(const ConvFinish& finish, Vector (&values)[kCount]) {
    FinishAs(finish, values, std::make_index_sequence<kNumScalarFunctions>());
  }

  // Whether it was this one: then it has been applied.
  template <ScalarFunction kFunction, int kCount>
  [[gnu::always_inline]] static bool FinishIf(const ConvFinish& finish, Vector (&values)[kCount]) {
    constexpr const ScalarRow& kRow = RowOf(kFunction);
    if constexpr (kRow.activation && kRow.arithmetic && kFunction != ScalarFunction::kIdentity) {
      if (finish.function != kFunction) return false;
#pragma GCC unroll 32
      for (int i = 0; i < kCount; ++i) {
        values[i] = Formula<kFunction>::Of(values[i], finish.parameters[0], finish.parameters[1]);
      }
      return true;
    }
    return false;
  }

  // Zeroes the channels of the block at `block` behind its first `channels`.
  static void ClearPadding(int channels, char* block) {
    for (int lane = channels; lane < kBlock; ++lane) reinterpret_cast<float*>(block)[lane] = 0.0f;
  }

 private:
  template <int kCount, size_t... kFunctions>
  [[gnu::always_inline]] static void FinishAs(const ConvFinish& finish, Vector (&values)[kCount],
                                              std::index_sequence<kFunctions...>) {
    static_cast<void>((FinishIf<static_cast<ScalarFunction>(kFunctions)>(finish, values) || ...));
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_

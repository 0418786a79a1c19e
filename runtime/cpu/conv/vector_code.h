// Vectors of a block of 16 channels, for files that are compiled once per instruction set.
// Everything is in an unnamed namespace, so that the linker cannot share code between these files.
#ifndef ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_
#define ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_

#include <utility>

#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/float16_vectors.h"

namespace ashlar::cpu {
namespace {

// Whether this build can run vectors of kWidth floats; other widths are only planned for. x86 could
// run vectors of four, but only its tests do.
#if !defined(__x86_64__)
template <int kWidth>
constexpr bool kRunsVectorsOf = kWidth == 4;
#elif defined(ASHLAR_EVERY_VECTOR)
template <int kWidth>
constexpr bool kRunsVectorsOf = true;
#else
template <int kWidth>
constexpr bool kRunsVectorsOf = kWidth > 4;
#endif

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

  // Applies the activation: identity and the usual ones in registers, others through memory.
  template <int kCount>
  [[gnu::always_inline]] static void Finish(const ConvFinish& finish, Vector (&values)[kCount]) {
    if (finish.function == ScalarFunction::kIdentity ||
        FinishIf<ScalarFunction::kRelu>(finish, values) ||
        FinishIf<ScalarFunction::kClamp>(finish, values)) {
      return;
    }
    Vector copy[kCount];
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) copy[i] = values[i];
    FinishInMemory(finish, copy, kCount, std::make_index_sequence<kNumScalarFunctions>());
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) values[i] = copy[i];
  }

  // Zeroes the channels after the first `channels` of the block.
  static void ClearPadding(int channels, char* block) {
    for (int lane = channels; lane < kBlock; ++lane) reinterpret_cast<float*>(block)[lane] = 0.0f;
  }

 private:
  template <ScalarFunction kFunction>
  [[gnu::always_inline]] static void Apply(const ConvFinish& finish, Vector& value) {
    value = Formula<kFunction>::Of(value, finish.parameters[0], finish.parameters[1]);
  }

  // Applies kFunction if `finish` names it; returns whether it did.
  template <ScalarFunction kFunction, int kCount>
  [[gnu::always_inline]] static bool FinishIf(const ConvFinish& finish, Vector (&values)[kCount]) {
    if (finish.function != kFunction) return false;
#pragma GCC unroll 32
    for (int i = 0; i < kCount; ++i) Apply<kFunction>(finish, values[i]);
    return true;
  }
  template <ScalarFunction kFunction>
  [[gnu::always_inline]] static bool FinishIf(const ConvFinish& finish, Vector* values, int count) {
    constexpr const ScalarRow& kRow = RowOf(kFunction);
    if constexpr (kRow.activation && kRow.arithmetic) {
      if (finish.function != kFunction) return false;
      for (int i = 0; i < count; ++i) Apply<kFunction>(finish, values[i]);
      return true;
    }
    return false;
  }

  // One function shared by all tiles: unrolled in each, the formulas would be half of their code.
  template <size_t... kFunctions>
  [[gnu::noinline]] static void FinishInMemory(const ConvFinish& finish, Vector* values, int count,
                                               std::index_sequence<kFunctions...>) {
    static_cast<void>(
        (FinishIf<static_cast<ScalarFunction>(kFunctions)>(finish, values, count) || ...));
  }
};

// Calls visit.template operator()<Format>() for the vectors in which an image is stored.
template <int kWidth, typename Visit>
[[gnu::always_inline]] inline void WithFormat(StoredFloat stored, const Visit& visit) {
  if (stored == StoredFloat::kFloat16) {
    visit.template operator()<Float16Vectors<kWidth>>();
  } else if (stored == StoredFloat::kBFloat16) {
    visit.template operator()<BFloat16Vectors<kWidth>>();
  } else {
    visit.template operator()<Vectors<kWidth>>();
  }
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_VECTOR_CODE_H_

// Loops compiled for several instruction sets, and the choice among them when the program runs.
#ifndef ASHLAR_RUNTIME_CPU_ISA_H_
#define ASHLAR_RUNTIME_CPU_ISA_H_

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// The versions of a function, all callees inlined, so that the compiler vectorises its loops for
// the instruction set: Versions<Function>::For(isa) is a pointer to the one to call.
template <auto kFunction>
struct Versions;

template <typename... Args, void (*kFunction)(Args...)>
struct Versions<kFunction> {
  using Pointer = void (*)(Args...);

#if defined(__x86_64__)
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512"),
    gnu::flatten]] static void
  Avx512(Args... args) {
    kFunction(args...);
  }
  [[gnu::target("avx2,fma"), gnu::flatten]] static void Avx2(Args... args) { kFunction(args...); }
#elif defined(__aarch64__)
  [[gnu::flatten]] static void Neon(Args... args) { kFunction(args...); }
#endif

  // For plans that another architecture runs, the baseline of every processor.
  static Pointer For([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::kAvx512) return Avx512;
    if (isa == Isa::kAvx2) return Avx2;
#elif defined(__aarch64__)
    if (isa == Isa::kNeon) return Neon;
#endif
    return kFunction;
  }
};

// Of code whose vectors are of 256 bits, or that has none: AVX-512 would be a copy that takes room.
template <auto kFunction>
struct NarrowVersions {
  static typename Versions<kFunction>::Pointer For(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::kAvx512) return Versions<kFunction>::Avx2;
    return isa == Isa::kAvx2 ? Versions<kFunction>::Avx2 : kFunction;
#else
    return Versions<kFunction>::For(isa);
#endif
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_ISA_H_

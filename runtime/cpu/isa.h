// Loops compiled for several instruction sets, and the choice among them at run time.
#ifndef ASHLAR_RUNTIME_CPU_ISA_H_
#define ASHLAR_RUNTIME_CPU_ISA_H_

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// The versions of a function, compiled per instruction set with all callees inlined, so that the
// compiler vectorises its loops. Versions<Function>::For(isa) returns the version to call.
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

  // If the plan is for another architecture, returns the baseline of every processor.
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

// The versions except AVX-512, for code that is not vectorised or uses 256-bit vectors: an AVX-512
// version would only be a larger copy.
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

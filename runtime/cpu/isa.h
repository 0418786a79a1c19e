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

  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512"),
    gnu::flatten]] static void
  Avx512(Args... args) {
    kFunction(args...);
  }
  [[gnu::target("avx2,fma"), gnu::flatten]] static void Avx2(Args... args) { kFunction(args...); }

  static Pointer For(Isa isa) {
    switch (isa) {
      case Isa::kAvx512:
        return Avx512;
      case Isa::kAvx2:
        return Avx2;
      case Isa::kBaseline:
        break;
    }
    return kFunction;
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_ISA_H_

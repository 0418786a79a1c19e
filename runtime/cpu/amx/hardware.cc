// AMX's instructions, and AVX-512 for rounding.
#include "runtime/cpu/amx/tiles_code.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/quantized/vectors_512.h"
#include "runtime/cpu/quantized/vnni_512.h"

namespace ashlar::cpu {
namespace {

// Assembly instead of GCC's functions: those take the numbers of tiles as text, and tell the
// compiler nothing of the memory that is read (GCC 12 removes the stores to a configuration as
// dead).
struct Instructions {
  static void Configure(const AmxConfiguration& configuration) {
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  static void Release() { asm volatile("tilerelease"); }
  template <int kTile>
  __attribute__((always_inline)) static void Load(const void* from, int64_t row_step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                 :
                 : "r"(from), "r"(row_step), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  __attribute__((always_inline)) static void LoadOnce(const void* from, int64_t row_step) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2"
                 :
                 : "r"(from), "r"(row_step), "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  __attribute__((always_inline)) static void Store(void* to, int64_t row_step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                 :
                 : "r"(to), "r"(row_step), "i"(kTile)
                 : "memory");
  }
  template <int kSums, int kPixels, int kWeights, AmxProduct kProduct>
  __attribute__((always_inline)) static void Add() {
    if constexpr (kProduct == AmxProduct::kBFloat16) {
      asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                   :
                   : "i"(kSums), "i"(kPixels), "i"(kWeights));
    } else if constexpr (kProduct == AmxProduct::kSignedBytes) {
      asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                   :
                   : "i"(kSums), "i"(kPixels), "i"(kWeights));
    } else {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                   :
                   : "i"(kSums), "i"(kPixels), "i"(kWeights));
    }
  }
};

}  // namespace

extern const AmxCode kAmxInstructions;
const AmxCode kAmxInstructions =
    MakeAmxCode<Instructions, Vectors512<Avx512Vnni>, Vectors<16>>(Isa::kAvx512, &RequestAmx);

}  // namespace ashlar::cpu

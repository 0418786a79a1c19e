// Instructions that only some processors have, if the compiler may use them:
//   ASHLAR_SIMD32    the DSP extension of Arm's 32-bit processors: two products at once
//   ASHLAR_MVE       vectors of integers of Arm's M profile
//   ASHLAR_DOTPROD   dot products of 64-bit Arm
// Results are the same without them: -DASHLAR_PORTABLE.
#ifndef ASHLAR_RUNTIME_MCU_C99_EXTENSIONS_H_
#define ASHLAR_RUNTIME_MCU_C99_EXTENSIONS_H_

#include "runtime/mcu/c99/target.h"

#if defined(__GNUC__) && !defined(ASHLAR_PORTABLE)
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#define ASHLAR_MVE 1
#endif

#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#define ASHLAR_DOTPROD 1
#endif

#if defined(__ARM_FEATURE_DSP) && !defined(__aarch64__)
#define ASHLAR_SIMD32 1

// Returns four bytes, aligned or not.
static inline uint32_t ashlar_four_bytes(const void* from) {
  uint32_t word;
  __builtin_memcpy(&word, from, sizeof(word));
  return word;
}

// Returns a value in both halves of a word.
static inline uint32_t ashlar_both_halves(int32_t value) {
  return ((uint32_t)value & 0xffffu) * 0x10001u;
}

// Assembly, because compilers know no function for the rotation, and keep the order of functions
// that may set the saturation flag.
#define ASHLAR_SIMD32_FUNCTION(name, instruction)             \
  static inline uint32_t name(uint32_t pair, uint32_t word) { \
    uint32_t sum;                                             \
    __asm__(instruction : "=r"(sum) : "r"(pair), "r"(word));  \
    return sum;                                               \
  }
// Add unsigned bytes 0 and 2 of a word, or bytes 1 and 3, to a pair of 16-bit integers.
ASHLAR_SIMD32_FUNCTION(ashlar_add_even, "uxtab16 %0, %1, %2")
ASHLAR_SIMD32_FUNCTION(ashlar_add_odd, "uxtab16 %0, %1, %2, ror #8")
#undef ASHLAR_SIMD32_FUNCTION

// Return signed bytes 0 and 2, or bytes 1 and 3, as a pair.
static inline uint32_t ashlar_signed_even(uint32_t word) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
  return pair;
}
static inline uint32_t ashlar_signed_odd(uint32_t word) {
  uint32_t pair;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
  return pair;
}

#define ASHLAR_SIMD32_PRODUCT(name, instruction)                         \
  static inline int32_t name(uint32_t a, uint32_t b, int32_t sum) {      \
    __asm__(instruction " %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b)); \
    return sum;                                                          \
  }
// Add to a sum the products of both integers of two pairs, of the lower, or of the upper ones.
ASHLAR_SIMD32_PRODUCT(ashlar_add_products, "smlad")
ASHLAR_SIMD32_PRODUCT(ashlar_add_lower, "smlabb")
ASHLAR_SIMD32_PRODUCT(ashlar_add_upper, "smlatt")
#undef ASHLAR_SIMD32_PRODUCT
#endif
#endif

#endif  // ASHLAR_RUNTIME_MCU_C99_EXTENSIONS_H_

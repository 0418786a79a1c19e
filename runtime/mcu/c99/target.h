// Requirements on the target, checked at compile time.
#ifndef ASHLAR_RUNTIME_MCU_C99_TARGET_H_
#define ASHLAR_RUNTIME_MCU_C99_TARGET_H_

#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if CHAR_BIT != 8
#error "ashlar: the target needs bytes of 8 bits"
#endif
#if INT_MAX < 2147483647
#error "ashlar: the target needs an int of 32 bits"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ashlar: the target has to be little endian"
#endif
// Results are bit-identical to the desktop's only if each operation is rounded to Float32 by
// itself.
#if defined(__FAST_MATH__)
#error "ashlar: compile without -ffast-math"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "ashlar: floats are computed in a wider type; on x86 compile with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif

#if defined(__GNUC__)
#define ASHLAR_APART __attribute__((noinline))
#else
#define ASHLAR_APART
#endif

typedef char ashlar_float_has_32_bits[sizeof(float) == 4 && FLT_MANT_DIG == 24 ? 1 : -1];

#endif  // ASHLAR_RUNTIME_MCU_C99_TARGET_H_

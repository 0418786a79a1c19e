// Elementary functions that loops may call and still be vectorised.
//
// glibc has vector versions of them (libmvec, at most 4 units in the last place off) for 4, 8 and
// 16 floats, which its headers only offer under -ffast-math; here they are declared in any case. A
// loop under `#pragma omp simd` uses the ones of its instruction set. For 64-bit Arm it has none
// before version 2.38.
#ifndef ASHLAR_RUNTIME_CPU_VECTOR_MATH_H_
#define ASHLAR_RUNTIME_CPU_VECTOR_MATH_H_

#include <cmath>

#if defined(__x86_64__)

extern "C" {
__attribute__((simd("notinbranch"))) float expf(float) noexcept, logf(float) noexcept,
    tanhf(float) noexcept, sinf(float) noexcept, cosf(float) noexcept, erff(float) noexcept,
    log1pf(float) noexcept, expm1f(float) noexcept, atanf(float) noexcept, sinhf(float) noexcept,
    coshf(float) noexcept, asinhf(float) noexcept, powf(float, float) noexcept;
}
#endif

#endif  // ASHLAR_RUNTIME_CPU_VECTOR_MATH_H_

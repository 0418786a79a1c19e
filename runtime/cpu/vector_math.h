// Elementary functions that the compiler can call in vectorised loops.
//
// glibc has vector versions (libmvec, errors of at most 4 units in the last place) for 4, 8 and 16
// floats. Its headers only declare them under -ffast-math, so this header declares them always. A
// loop under `#pragma omp simd` uses the version of its instruction set. vector_math.cc has those
// versions that glibc lacks before 2.35. For 64-bit Arm there is none before glibc 2.38.
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

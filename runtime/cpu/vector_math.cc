// Vector versions of eight elementary functions, under the names that the compiler calls in
// vectorised loops (x86-64 vector ABI, "_ZGV" names: b, d, e for SSE, AVX2 and AVX-512). libmvec
// has them only from glibc 2.35 on; with these, the library runs on glibc 2.28. Errors are at most
// 4 units in the last place (tests/runtime/cpu/vector_math_test.cc).
//
// Each function is a scalar formula without branches, compiled for one vector of each width.
// Reductions are standard (Cody and Waite, Software Manual for the Elementary Functions, 1980);
// polynomials were fitted here, by least squares with weights that level the relative error.
#include "runtime/cpu/vector_math.h"

#if defined(__x86_64__)

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ashlar::cpu {
namespace {

constexpr float kLn2 = 0.693147181f, kHalfPi = 1.57079633f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline float WithSignOf(float x, float sign) { return std::copysign(x, sign); }
// These pass NaN on.
inline float AtMost(float x, float most) { return x > most ? most : x; }
inline float AtLeast(float x, float least) { return x < least ? least : x; }

// Returns c[0] + c[1] x + c[2] x^2 + ...
template <int kCount>
inline float Polynomial(const float (&c)[kCount], float x) {
  float sum = c[kCount - 1];
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// e^x = 4 scale (1 + rest), with |rest| < 0.42; scale is a power of two. For x in [-85, 89.5].
struct Power {
  float rest, scale;
};
inline Power PowerOf(float x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-06f;  // High has 9 trailing zeros
  constexpr float kRest[] = {0.5f,           0.166666672f,   0.0416663438f,
                             0.00833327044f, 0.00139420456f, 0.000199156231f};
  const float shifted = x * (1 / kLn2) + kRound;
  const float k = shifted - kRound;
  const float r = (x - k * kLn2High) - k * kLn2Low;
  const auto exponent = std::bit_cast<uint32_t>(shifted) + 125;  // its low bits are k
  return {r + r * r * Polynomial(kRest, r), std::bit_cast<float>(exponent << 23)};
}

// e^x - 1 for x in [-85, 89.5].
inline float LimitedExpm1(float x) {
  const Power power = PowerOf(x);
  return 4 * (power.scale * power.rest + (power.scale - 0.25f));
}

inline float Expm1(float x) { return LimitedExpm1(AtMost(AtLeast(x, -20), 89.5f)); }

inline float Tanh(float x) {
  const float e = LimitedExpm1(-2 * AtMost(std::fabs(x), 10));
  return WithSignOf(-e / (e + 2), x);
}

// e^a / 4, which is finite for all a that have a finite sinh.
inline float QuarterOfExp(float a) {
  const Power power = PowerOf(AtMost(a, 89.5f));
  return power.scale * power.rest + power.scale;
}

inline float Sinh(float x) {
  constexpr float kSmall[] = {0.166666672f, 0.00833335053f, 0.000198360663f, 2.81743951e-06f};
  const float a = std::fabs(x), quarter = QuarterOfExp(a), square = a * a;
  const float small = a + a * square * Polynomial(kSmall, square);
  return WithSignOf(a < 1 ? small : 2 * quarter - 0.125f / quarter, x);
}

inline float Cosh(float x) {
  const float quarter = QuarterOfExp(std::fabs(x));
  return 2 * quarter + 0.125f / quarter;
}

// log(x) for normal x > 0.
inline float PositiveLog(float x) {
  constexpr uint32_t kLeast = 0x3f3504f3;  // sqrt(0.5), where the mantissa's range begins
  constexpr float kRest[] = {0.333333164f, -0.250008106f, 0.200022861f, -0.166245535f,
                             0.141811922f, -0.131287545f, 0.128816471f, -0.0785961151f};
  const uint32_t bits = std::bit_cast<uint32_t>(x) - kLeast;
  const auto exponent = static_cast<float>(std::bit_cast<int32_t>(bits) >> 23);
  const float f = std::bit_cast<float>((bits & 0x7fffff) + kLeast) - 1, square = f * f;
  const float rest = f * square * Polynomial(kRest, f) - 0.5f * square + exponent * 1.42860677e-06f;
  return exponent * 0.693145752f + (f + rest);
}

// log(1 + x): the rounding error of 1 + x is added as a first-order term.
inline float Log1p(float x) {
  const float u = 1 + x, lost = x - (u - 1);
  const float log = PositiveLog(u) + lost / u;
  const float not_positive = u == 0 ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return u > 0 ? (u < kInfinity ? log : u) : not_positive;
}

inline float Asinh(float x) {
  const float a = std::fabs(x);
  const bool large = a > 1e9f;  // log(2 a) is exact enough, and a^2 may overflow
  const float square = a * a;
  const float t = large ? a : a + square / (1 + std::sqrt(1 + square));
  return WithSignOf(Log1p(t) + (large ? kLn2 : 0), x);
}

// By atan(a) = pi/4 + atan((a - 1) / (a + 1)) = pi/2 - atan(1 / a), to |z| <= tan(pi/8).
inline float Atan(float x) {
  constexpr float kSeries[] = {-0.333333164f, 0.199984878f, -0.142438263f, 0.10595829f,
                               -0.0608299337f};
  const float a = std::fabs(x);
  const bool large = a > 2.41421356f, middle = a > 0.414213562f;
  const float above = large ? -1 : middle ? a - 1 : a, below = large ? a : middle ? a + 1 : 1;
  const float z = above / below, square = z * z;
  const float base = large ? kHalfPi : middle ? kHalfPi / 2 : 0;
  return WithSignOf(base + (z + z * square * Polynomial(kSeries, square)), x);
}

// A series up to 0.875; beyond, 1 - erfc(a) with a polynomial for log(erfc(a)).
inline float Erf(float x) {
  constexpr float kSeries[] = {0.128379166f,   -0.376126349f,    0.112837367f,   -0.0268617738f,
                               0.00520721916f, -0.000821654627f, 8.69896394e-05f};
  constexpr float kTail[] = {-0.000144211808f, -1.12788939f,   -0.636820674f,  -0.104250193f,
                             0.0223810282f,    -0.0030819953f, 0.000199901304f};
  const float a = AtMost(std::fabs(x), 4), square = a * a;
  const float small = a + a * Polynomial(kSeries, square);
  const Power tail = PowerOf(Polynomial(kTail, a));
  const float large = 1 - 4 * (tail.scale * tail.rest + tail.scale);
  return WithSignOf(a < 0.875f ? small : large, x);
}

template <float (*kFunction)(float), typename Vector>
inline void ForEach(Vector& x) {
#pragma omp simd
  for (size_t i = 0; i < sizeof(x) / sizeof(float); ++i) x[i] = kFunction(x[i]);
}

}  // namespace

using Floats4 = float __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));
using Floats16 = float __attribute__((vector_size(64)));

#define ASHLAR_VERSION(function, lanes, name, set)                                    \
  extern "C" {                                                                        \
  [[gnu::visibility("hidden"),                                                        \
    gnu::target(set)]] Floats##lanes function##lanes(Floats##lanes x) __asm__(name);  \
  [[gnu::target(set), gnu::flatten]] Floats##lanes function##lanes(Floats##lanes x) { \
    ForEach<function>(x);                                                             \
    return x;                                                                         \
  }                                                                                   \
  }
#define ASHLAR_VERSIONS(function, name)                     \
  ASHLAR_VERSION(function, 4, "_ZGVbN4v_" name, "sse2")     \
  ASHLAR_VERSION(function, 8, "_ZGVdN8v_" name, "avx2,fma") \
  ASHLAR_VERSION(function, 16, "_ZGVeN16v_" name,           \
                 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")

ASHLAR_VERSIONS(Expm1, "expm1f")
ASHLAR_VERSIONS(Tanh, "tanhf")
ASHLAR_VERSIONS(Sinh, "sinhf")
ASHLAR_VERSIONS(Cosh, "coshf")
ASHLAR_VERSIONS(Log1p, "log1pf")
ASHLAR_VERSIONS(Asinh, "asinhf")
ASHLAR_VERSIONS(Atan, "atanf")
ASHLAR_VERSIONS(Erf, "erff")

}  // namespace ashlar::cpu

#endif

// Checks the vector functions of runtime/cpu/vector_math.cc against the C library in double, in
// every width that this processor has: floats of all exponents, and floats of a usual range.
#include "runtime/cpu/vector_math.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/processor.h"

#if defined(__x86_64__)

namespace ashlar::cpu {
namespace {

using Floats4 = float __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));
using Floats16 = float __attribute__((vector_size(64)));

// A width's loop over a function: `set` are the instructions that its vectors are passed in.
#define ASHLAR_LOOP(function, lanes, letter, set)                                             \
  extern "C"                                                                                  \
      [[gnu::target(set)]] Floats##lanes _ZGV##letter##N##lanes##v_##function(Floats##lanes); \
  [[gnu::target(set)]] void function##lanes(const float* in, float* out, size_t n) {          \
    for (size_t i = 0; i < n; i += lanes) {                                                   \
      Floats##lanes x;                                                                        \
      std::memcpy(&x, in + i, sizeof(x));                                                     \
      x = _ZGV##letter##N##lanes##v_##function(x);                                            \
      std::memcpy(out + i, &x, sizeof(x));                                                    \
    }                                                                                         \
  }
#define ASHLAR_LOOPS(function)            \
  ASHLAR_LOOP(function, 4, b, "sse2")     \
  ASHLAR_LOOP(function, 8, d, "avx2,fma") \
  ASHLAR_LOOP(function, 16, e, "avx512f,avx2,fma")

ASHLAR_LOOPS(expm1f)
ASHLAR_LOOPS(tanhf)
ASHLAR_LOOPS(sinhf)
ASHLAR_LOOPS(coshf)
ASHLAR_LOOPS(log1pf)
ASHLAR_LOOPS(asinhf)
ASHLAR_LOOPS(atanf)
ASHLAR_LOOPS(erff)

struct VectorCase {
  const char* name;
  double (*reference)(double);
  std::vector<std::pair<Isa, std::function<void(const float*, float*, size_t)>>> loops;
};
#define ASHLAR_CASE(name)                                                             \
  VectorCase {                                                                        \
#name, [](double x) { return std::name(x); }, {                                   \
      {Isa::kBaseline, name##f4}, {Isa::kAvx2, name##f8}, { Isa::kAvx512, name##f16 } \
    }                                                                                 \
  }

std::vector<float> VectorInputs() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> inputs = {0,      -0.0f,  kInfinity, -kInfinity, NAN,    -1,
                               1,      88.72f, 88.73f,    89.4f,      -17,    0.875f,
                               -0.41f, 2.41f,  3.4e38f,   -3.4e38f,   1e-40f, 1e-45f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 65537) {
    inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  std::mt19937 random(1);
  std::normal_distribution<float> usual(0, 3);
  for (int i = 0; i < 100000; ++i) inputs.push_back(usual(random) / static_cast<float>(i % 7 + 1));
  while (inputs.size() % 16 != 0) inputs.push_back(0.5f);
  return inputs;
}

// Returns the distance in units in the last place of the float next to `exact`.
double UlpsBetween(float got, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(rounded)) return got == rounded ? 0 : INFINITY;
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

TEST(VectorMathTest, ErrorsAreAtMostFourUnitsInTheLastPlace) {
  const std::vector<float> inputs = VectorInputs();
  std::vector<float> outputs(inputs.size());
  for (const VectorCase& one :
       {ASHLAR_CASE(expm1), ASHLAR_CASE(tanh), ASHLAR_CASE(sinh), ASHLAR_CASE(cosh),
        ASHLAR_CASE(log1p), ASHLAR_CASE(asinh), ASHLAR_CASE(atan), ASHLAR_CASE(erf)}) {
    for (const auto& [isa, loop] : one.loops) {
      if (isa != Isa::kBaseline && !Contains(HostProcessor().isa, isa)) continue;
      loop(inputs.data(), outputs.data(), inputs.size());
      double worst = 0;
      float where = 0;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const double ulps = UlpsBetween(outputs[i], one.reference(inputs[i]));
        if (ulps <= worst) continue;
        worst = ulps;
        where = inputs[i];
      }
      EXPECT_LE(worst, 4) << one.name << " of " << where << ", instruction set "
                          << static_cast<int>(isa);
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu

#endif

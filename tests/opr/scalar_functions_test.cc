// The formulas that are written for floats and vectors of them, against the library's functions in
// double precision.
#include "opr/scalar_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace ashlar::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double UnitInTheLastPlace(double x) {
  const auto size = static_cast<float>(std::fabs(x));
  return static_cast<double>(std::nextafter(size, kInfinity)) - static_cast<double>(size);
}

TEST(ScalarFunctionsTest, ExponentialsAndTangentsAreExactToTwoUnitsInTheLastPlace) {
  const struct {
    const char* name;
    float (*function)(float);
    double (*expected)(double);
    float lowest, highest;
  } kFunctions[] = {
      {"Exp", formulas::Exp<float>, std::exp, -kInfinity, kInfinity},
      {"UsualExp", formulas::UsualExp<float>, std::exp, -87.3f, 88.3f},
      {"Tanh", formulas::Tanh<float>, std::tanh, -kInfinity, kInfinity},
  };
  for (const auto& f : kFunctions) {
    for (uint64_t step = 0; step < uint64_t{1} << 32; step += 9973) {  // through all floats
      const auto bits = static_cast<uint32_t>(step);
      float x;
      std::memcpy(&x, &bits, sizeof x);
      if (!(x >= f.lowest && x <= f.highest)) continue;
      const double expected = f.expected(static_cast<double>(x));
      if (expected > static_cast<double>(std::numeric_limits<float>::max())) {
        ASSERT_EQ(f.function(x), kInfinity) << f.name << " of " << x;
      } else {
        ASSERT_NEAR(static_cast<double>(f.function(x)), expected, 2 * UnitInTheLastPlace(expected))
            << f.name << " of " << x;
      }
    }
  }
}

TEST(ScalarFunctionsTest, EndsOfExponentialsAndTangents) {
  const float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(formulas::Exp(-kInfinity), 0);
  EXPECT_EQ(formulas::Exp(kInfinity), kInfinity);
  EXPECT_EQ(formulas::UsualExp(-kInfinity), 0);
  EXPECT_EQ(formulas::UsualExp(-90.0f), 0);
  EXPECT_EQ(formulas::UsualExp(89.0f), kInfinity);
  EXPECT_EQ(formulas::Tanh(kInfinity), 1);
  EXPECT_EQ(formulas::Tanh(-kInfinity), -1);
  EXPECT_TRUE(std::signbit(formulas::Tanh(-0.0f)));
  for (float (*function)(float) :
       {formulas::Exp<float>, formulas::UsualExp<float>, formulas::Tanh<float>}) {
    EXPECT_TRUE(std::isnan(function(kNaN)));
  }
}

TEST(ScalarFunctionsTest, ArithmeticTakesVectors) {
  typedef float Vector __attribute__((vector_size(16)));
  const float kB = 0.25f, kC = 1.5f;
  int seen = 0;
  for (size_t i = 0; i < kNumScalarFunctions; ++i) {
    WithFunction(static_cast<ScalarFunction>(i), [&](auto function) {
      constexpr const ScalarRow& kRow = RowOf(function());
      if constexpr (kRow.arithmetic) {
        ++seen;
        for (float x = -100; x < 100; x += 1.1f) {
          const Vector a = {x, x / 10, x / 100, 0};
          const Vector found = Formula<function()>::Of(a, kB, kC);
          for (int lane = 0; lane < 4; ++lane) {
            const auto expected = static_cast<float>(Formula<function()>::Of(
                static_cast<double>(a[lane]), static_cast<double>(kB), static_cast<double>(kC)));
            if (std::isinf(expected)) {
              EXPECT_EQ(found[lane], expected) << kRow.name << " of " << a[lane];
            } else {
              EXPECT_NEAR(found[lane], expected, 2e-6 * std::fabs(expected) + 1e-30)
                  << kRow.name << " of " << a[lane];
            }
          }
        }
      }
    });
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace ashlar::testing

// Cases of doubles, on devices that compute in them.
#ifndef ASHLAR_TESTS_CASES_DOUBLES_H_
#define ASHLAR_TESTS_CASES_DOUBLES_H_

#include <utility>

#include "tests/cases/cases.h"

namespace ashlar::testing {

// Returns numbers whose sums and products with small integers are exact in doubles, in every order,
// and rounded by Float32: multiples of 2^-20 up to a million.
inline HostTensor FineNumbers(Cases& cases, const Shape& shape) {
  HostTensor x = HostTensor::Zeros(DType::kFloat64, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double large = static_cast<double>(cases.Pick(-1, 1)) * 1e6;
    x.Set(i, large + static_cast<double>(cases.Pick(-1000000, 1000000)) * 0x1p-20);
  }
  return x;
}

inline HostTensor SmallIntegers(Cases& cases, const Shape& shape) {
  HostTensor x = HostTensor::Zeros(DType::kFloat64, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) x.Set(i, static_cast<double>(cases.Pick(-3, 3)));
  return x;
}

// Adds a case of doubles, for one thread and several.
inline void AddOfDoubles(Cases& cases, KernelCase test, double tolerance) {
  if (!cases.Computes(DType::kFloat64)) return;
  test.tolerance = tolerance;
  for (const int threads : {1, 3}) {
    test.threads = threads;
    cases.Add(test);
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_DOUBLES_H_

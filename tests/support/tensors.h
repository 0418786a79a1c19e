// Tensors for tests: random ones, and comparison with a reference.
#ifndef ASHLAR_TESTS_SUPPORT_TENSORS_H_
#define ASHLAR_TESTS_SUPPORT_TENSORS_H_

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "graph/tensor.h"

namespace ashlar::testing {

// Uniform in [low, high], rounded where the dtype is integral.
HostTensor RandomTensor(std::mt19937_64& random, DType dtype, const Shape& shape, double low = -1,
                        double high = 1);

// Float32.
HostTensor RandomTensor(std::mt19937_64& random, const Shape& shape, double low = -1,
                        double high = 1);

// The ends of the dtype's range, numbers around 0 and around what a double is exact in, as far as
// the dtype has them.
std::vector<int64_t> IntegerEdges(DType dtype);
// Integers of a dtype over its whole range, every other one an edge.
HostTensor AnyIntegers(std::mt19937_64& random, DType dtype, const Shape& shape);

// Every element within `tolerance` * max(1, |expected|) of the expected one, or NaN where that is.
// Says how many are not and shows the worst.
::testing::AssertionResult Near(const HostTensor& actual, const std::vector<double>& expected,
                                double tolerance);
::testing::AssertionResult Near(const HostTensor& actual, const HostTensor& expected,
                                double tolerance);

// The same values in another dtype, rounded.
HostTensor InDType(const HostTensor& tensor, DType dtype);

std::vector<double> Values(const HostTensor& tensor);

// The largest difference of two tensors over the largest value of `want`; NaN differs.
double LargestDifference(const HostTensor& got, const HostTensor& want);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_TENSORS_H_

// Tensors for tests: random ones, and comparison with a reference.
#ifndef ASHLAR_TESTS_SUPPORT_TENSORS_H_
#define ASHLAR_TESTS_SUPPORT_TENSORS_H_

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "graph/tensor.h"

namespace ashlar::testing {

// Returns uniform values in [low, high], rounded if the dtype is integral.
HostTensor RandomTensor(std::mt19937_64& random, DType dtype, const Shape& shape, double low = -1,
                        double high = 1);

// Float32.
HostTensor RandomTensor(std::mt19937_64& random, const Shape& shape, double low = -1,
                        double high = 1);

// Returns, as HostTensor::SetInteger takes them, the ends of the dtype's range and numbers around
// 0. Also returns numbers around the largest exact integer of a double, if the dtype has them.
std::vector<int64_t> IntegerEdges(DType dtype);
// Returns integers over the dtype's whole range, every other one an edge.
HostTensor AnyIntegers(std::mt19937_64& random, DType dtype, const Shape& shape);

// Returns whether every element is within `tolerance` * max(1, |expected|) of the expected one, or
// NaN if that is NaN. A failure counts the wrong elements and shows the worst.
::testing::AssertionResult Near(const HostTensor& actual, const std::vector<double>& expected,
                                double tolerance);
::testing::AssertionResult Near(const HostTensor& actual, const HostTensor& expected,
                                double tolerance);

// Returns the same values in another dtype, rounded.
HostTensor InDType(const HostTensor& tensor, DType dtype);

std::vector<double> Values(const HostTensor& tensor);

// Returns the largest difference of two tensors over the largest value of `want`; NaN is a
// difference.
double LargestDifference(const HostTensor& got, const HostTensor& want);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_TENSORS_H_

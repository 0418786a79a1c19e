// Random shapes, and positions in a tensor.
#ifndef ASHLAR_TESTS_SUPPORT_SHAPES_H_
#define ASHLAR_TESTS_SUPPORT_SHAPES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "graph/shape.h"
#include "graph/tensor.h"

namespace ashlar::testing {

using Random = std::mt19937_64;

// A whole number in [low, high].
int64_t Pick(Random& random, int64_t low, int64_t high);

// A rank in [min_rank, max_rank], each dimension in [1, max_dim].
Shape RandomShape(Random& random, int min_rank, int max_rank, int64_t max_dim);

// The coordinates of element i in row-major order, and back.
std::vector<int64_t> IndexOf(int64_t i, const Shape& shape);
int64_t OffsetOf(absl::Span<const int64_t> index, const Shape& shape);

// An Int32 or Int64 vector: a target shape, or bounds.
HostTensor Int32Vector(std::vector<int32_t> values);
HostTensor Int64Vector(std::vector<int64_t> values);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SHAPES_H_

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

// Returns a whole number in [low, high].
int64_t Pick(Random& random, int64_t low, int64_t high);

// Returns a shape with a rank in [min_rank, max_rank] and dimensions in [1, max_dim].
Shape RandomShape(Random& random, int min_rank, int max_rank, int64_t max_dim);

// Converts between element i in row-major order and its coordinates.
std::vector<int64_t> IndexOf(int64_t i, const Shape& shape);
int64_t OffsetOf(absl::Span<const int64_t> index, const Shape& shape);

// Returns an Int32 or Int64 vector: a target shape, or bounds.
HostTensor Int32Vector(std::vector<int32_t> values);
HostTensor Int64Vector(std::vector<int64_t> values);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SHAPES_H_

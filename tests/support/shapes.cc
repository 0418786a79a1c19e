#include "tests/support/shapes.h"

namespace ashlar::testing {

int64_t Pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

Shape RandomShape(Random& random, int min_rank, int max_rank, int64_t max_dim) {
  Shape shape;
  const int64_t rank = Pick(random, min_rank, max_rank);
  for (int64_t i = 0; i < rank; ++i) shape.push_back(Pick(random, 1, max_dim));
  return shape;
}

std::vector<int64_t> IndexOf(int64_t i, const Shape& shape) {
  std::vector<int64_t> index(shape.rank());
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return index;
}

int64_t OffsetOf(absl::Span<const int64_t> index, const Shape& shape) {
  int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) offset = offset * shape[axis] + index[axis];
  return offset;
}

HostTensor Int32Vector(std::vector<int32_t> values) {
  return HostTensor::FromValues<int32_t>(DType::kInt32, Shape{static_cast<int64_t>(values.size())},
                                         values);
}

HostTensor Int64Vector(std::vector<int64_t> values) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, Shape{static_cast<int64_t>(values.size())},
                                         values);
}

}  // namespace ashlar::testing

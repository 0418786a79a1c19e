#include "opr/gather.h"

#include <gtest/gtest.h>

#include "opr/base/host_value.h"
#include "tests/opr/refusal.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns indices in [-size, size).
HostTensor Indices(Random& random, const Shape& shape, int64_t size) {
  return RandomTensor(random, Pick(random, 0, 1) == 0 ? DType::kInt64 : DType::kInt32, shape,
                      static_cast<double>(-size), static_cast<double>(size - 1));
}

int64_t IndexAt(const HostTensor& indices, int64_t i, int64_t size) {
  const auto index = static_cast<int64_t>(indices.At(i));
  return index < 0 ? index + size : index;
}

TEST(Gather, TakesSlicesAlongAnAxis) {
  ForSeeds(60, [&](int seed, Random& random) {
    const HostTensor x = RandomTensor(random, RandomShape(random, 1, 4, 5));
    const int64_t rank = x.shape().rank(), axis = Pick(random, 0, rank - 1);
    const int64_t size = x.shape()[static_cast<int>(axis)];
    const HostTensor indices = Indices(random, RandomShape(random, 0, 3, 4), size);
    const int place = indices.shape().rank();
    const HostTensor y = Evaluate(Gather({axis - (seed % 2) * rank}), {x, indices});
    ASSERT_EQ(y.shape().rank(), rank + place - 1);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const std::vector<int64_t> at = IndexOf(i, y.shape());
      const auto middle = at.begin() + axis;
      std::vector<int64_t> from(at.begin(), middle);
      from.push_back(IndexAt(
          indices, OffsetOf(std::vector<int64_t>(middle, middle + place), indices.shape()), size));
      from.insert(from.end(), middle + place, at.end());
      ASSERT_EQ(y.At(i), x.At(OffsetOf(from, x.shape())));
    }
  });
}

TEST(GatherElements, TakesSingleElements) {
  ForSeeds(60, [&](int, Random& random) {
    const HostTensor x = RandomTensor(random, RandomShape(random, 1, 4, 5));
    const auto axis = static_cast<int>(Pick(random, 0, x.shape().rank() - 1));
    Shape shape = x.shape();
    for (int i = 0; i < shape.rank(); ++i) shape[i] = Pick(random, 1, i == axis ? 7 : shape[i]);
    const HostTensor indices = Indices(random, shape, x.shape()[axis]);
    const HostTensor y = Evaluate(GatherElements({axis}), {x, indices});
    ASSERT_EQ(y.shape(), shape);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      std::vector<int64_t> from = IndexOf(i, shape);
      from[static_cast<size_t>(axis)] = IndexAt(indices, i, x.shape()[axis]);
      ASSERT_EQ(y.At(i), x.At(OffsetOf(from, x.shape())));
    }
  });
}

TEST(GatherND, TakesSlicesAtTuples) {
  ForSeeds(60, [&](int, Random& random) {
    const int64_t size = Pick(random, 2, 4);
    Shape shape;
    for (int64_t i = Pick(random, 2, 5); i > 0; --i) shape.push_back(size);
    const HostTensor x = RandomTensor(random, shape);
    const int64_t batch = Pick(random, 0, shape.rank() - 1);
    const int64_t depth = Pick(random, 1, shape.rank() - batch);
    Shape tuples(shape.dims().first(static_cast<size_t>(batch)));
    tuples.push_back(Pick(random, 1, 3));
    tuples.push_back(depth);
    const HostTensor indices = Indices(random, tuples, size);
    const HostTensor y = Evaluate(GatherND({batch}), {x, indices});
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const std::vector<int64_t> at = IndexOf(i, y.shape());
      std::vector<int64_t> from(at.begin(), at.begin() + batch);
      std::vector<int64_t> tuple(at.begin(), at.begin() + batch + 1);
      for (int64_t d = 0; d < depth; ++d) {
        tuple.push_back(d);
        from.push_back(IndexAt(indices, OffsetOf(tuple, tuples), size));
        tuple.pop_back();
      }
      from.insert(from.end(), at.begin() + batch + 1, at.end());
      ASSERT_EQ(y.At(i), x.At(OffsetOf(from, x.shape())));
    }
  });
}

TEST(Gather, AnIndexOutOfRangeIsAnError) {
  Random random(1);
  const HostTensor x = RandomTensor(random, {3, 4});
  for (const int64_t index : {int64_t{4}, int64_t{-5}, int64_t{1} << 62}) {
    const absl::Status status = Gather({1}).Evaluate({x, Int64Vector({0, index})}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_TRUE(FailsWith(status, absl::StrCat("index ", index, " is out of range for size 4")));
  }
}

TEST(Gather, CutsWhatIndicesDoNot) {
  const OwnedSite site{{{{DType::kFloat32, {4, 9, 5}}}, {{DType::kInt64, {2, 3}}}},
                       {{DType::kFloat32, {4, 2, 3, 5}}}};
  const auto regions = Gather({1}).InputRegions({{1, 3}, {0, 1}, {2, 3}, {0, 5}}, site);
  ASSERT_TRUE(regions.has_value());
  EXPECT_EQ((*regions)[0], (Region{{1, 3}, {0, 9}, {0, 5}}));
  EXPECT_EQ((*regions)[1], (Region{{0, 1}, {2, 3}}));
}

TEST(Gather, RefusesWhatItCannotCompute) {
  const TensorType x{DType::kFloat32, {3, 4}}, i{DType::kInt64, {2}}, f{DType::kFloat32, {2}};
  const TensorType pair{DType::kInt64, {2, 3}}, scalar{DType::kInt64, {}};
  const TensorType nothing{DType::kInt64, {2, 0}}, five{DType::kInt64, {5, 1}};
  ExpectRefused(Gather({0}), {x}, "1 inputs, expected 2");
  ExpectRefused(Gather({0}), {x, f}, "expected Int32 or Int64");
  ExpectRefused(Gather({2}), {x, i}, "axis");
  ExpectRefused(GatherElements({0}), {x, i}, "larger than x");
  ExpectRefused(GatherElements({1}), {x, five}, "larger than x");
  ExpectRefused(GatherND({0}), {x, scalar}, "batch_dims");
  ExpectRefused(GatherND({-1}), {x, i}, "batch_dims is -1");
  ExpectRefused(GatherND({0}), {x, pair}, "tuples of 3 indices for 2 dimensions");
  ExpectRefused(GatherND({0}), {x, nothing}, "tuples of 0 indices");
  ExpectRefused(GatherND({1}), {x, pair}, "dimension 0 of the batch");
}

}  // namespace
}  // namespace ashlar::testing

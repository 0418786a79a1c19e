#include "opr/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "opr/table.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeReduce(ReduceMode mode, int64_t axis = kNoAxis) {
  return std::make_shared<const Reduce>(ReduceParam{mode, axis});
}

double ReduceValues(ReduceMode mode, const std::vector<double>& values) {
  double sum = 0, squares = 0, product = 1, least = INFINITY, greatest = -INFINITY;
  for (double value : values) {
    sum += value;
    squares += value * value;
    product *= value;
    least = std::fmin(least, value);
    greatest = std::fmax(greatest, value);
  }
  switch (mode) {
    case ReduceMode::kSum:
      return sum;
    case ReduceMode::kSumSqr:
      return squares;
    case ReduceMode::kProduct:
      return product;
    case ReduceMode::kMin:
      return least;
    case ReduceMode::kMax:
      return greatest;
    case ReduceMode::kMean:
      return sum / static_cast<double>(values.size());
  }
  return 0;
}

// Returns, for each output element, the reduction of the inputs whose coordinates match it in every
// dimension except dimensions of size 1.
std::vector<double> Expected(ReduceMode mode, const HostTensor& x, const Shape& target) {
  std::vector<std::vector<double>> parts(target.num_elements());
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    std::vector<int64_t> index = IndexOf(i, x.shape());
    index.erase(index.begin(), index.end() - target.rank());
    for (int axis = 0; axis < target.rank(); ++axis) {
      if (target[axis] == 1) index[axis] = 0;
    }
    parts[OffsetOf(index, target)].push_back(x.At(i));
  }
  std::vector<double> expected;
  for (const std::vector<double>& part : parts) expected.push_back(ReduceValues(mode, part));
  return expected;
}

TEST(Reduce, OneAxisOfRandomShapes) {
  ForSeeds(120, [](int seed, Random& random) {
    const auto mode = static_cast<ReduceMode>(seed % 6);
    const Shape shape = RandomShape(random, 1, 5, 6);
    const int64_t axis = Pick(random, -shape.rank(), shape.rank() - 1);
    const HostTensor x = RandomTensor(random, DType::kFloat32, shape, -2, 2);
    Shape target = shape;
    target[static_cast<int>(axis < 0 ? axis + shape.rank() : axis)] = 1;
    const HostTensor actual = Evaluate(*MakeReduce(mode, axis), {x});
    EXPECT_EQ(actual.shape(), target);
    EXPECT_TRUE(Near(actual, Expected(mode, x, target), 1e-6));
  });
}

TEST(Reduce, ToARandomShape) {
  ForSeeds(120, [](int seed, Random& random) {
    const auto mode = static_cast<ReduceMode>(seed % 6);
    const Shape shape = RandomShape(random, 1, 5, 5);
    Shape target;
    for (int axis = static_cast<int>(Pick(random, 0, shape.rank())); axis < shape.rank(); ++axis) {
      target.push_back(Pick(random, 0, 1) == 0 ? 1 : shape[axis]);
    }
    const HostTensor x = RandomTensor(random, DType::kFloat32, shape, -2, 2);
    const HostTensor actual =
        Evaluate(*MakeReduce(mode), {x, Int64Vector({target.dims().begin(), target.dims().end()})});
    EXPECT_EQ(actual.shape(), target);
    EXPECT_TRUE(Near(actual, Expected(mode, x, target), 1e-6));
  });
}

TEST(Reduce, EveryNumericDType) {
  for (DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kInt64, DType::kInt32, DType::kInt8,
                      DType::kUint8}) {
    SCOPED_TRACE(std::string(Name(dtype)));
    Random random(3);
    const HostTensor x = RandomTensor(random, dtype, {4, 5}, 0, 6);
    const double tolerance = IsFloat(dtype) ? 8e-3 : 0;
    for (ReduceMode mode : {ReduceMode::kSum, ReduceMode::kMin, ReduceMode::kMax}) {
      EXPECT_TRUE(Near(Evaluate(*MakeReduce(mode, 0), {x}), Expected(mode, x, {1, 5}), tolerance));
    }
  }
}

TEST(Reduce, SumsInDouble) {
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {1 << 20});
  for (int64_t i = 0; i < x.num_elements(); ++i) x.Set(i, 0.1f);
  EXPECT_TRUE(Near(Evaluate(*MakeReduce(ReduceMode::kMean, 0), {x}), {double{0.1f}}, 1e-9));
}

TEST(Reduce, OfNothing) {
  const HostTensor none = HostTensor::Zeros(DType::kFloat32, {2, 0});
  EXPECT_TRUE(Near(Evaluate(*MakeReduce(ReduceMode::kSum, 1), {none}), {0, 0}, 0));
  EXPECT_TRUE(Near(Evaluate(*MakeReduce(ReduceMode::kProduct, 1), {none}), {1, 1}, 0));
  EXPECT_EQ(Evaluate(*MakeReduce(ReduceMode::kMax, 0), {none}).shape(), (Shape{1, 0}));
}

TEST(Reduce, HandsNaNOn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {3});
  x.Set(1, nan);
  EXPECT_TRUE(Near(Evaluate(*MakeReduce(ReduceMode::kMax, 0), {x}), {nan}, 0));
  EXPECT_TRUE(Near(Evaluate(*MakeReduce(ReduceMode::kMin, 0), {x}), {nan}, 0));
}

TEST(Reduce, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakeReduce(ReduceMode::kSum, 2), {{3, 4}}, "axis 2 is out of range for a tensor of rank 2"},
      {MakeReduce(ReduceMode::kSum, -3), {{3, 4}}, "axis -3 is out of range"},
      {MakeReduce(ReduceMode::kSum, 0), {Shape()}, "axis 0 is out of range for a tensor of rank 0"},
      {MakeReduce(ReduceMode::kSum, std::numeric_limits<int64_t>::min()), {{3}}, "is out of range"},
      {MakeReduce(ReduceMode::kSum, 0), {{3}, {3}}, "2 inputs, expected 1"},
      {MakeReduce(ReduceMode::kSum), {{3}}, "1 inputs, expected 2"},
      {MakeReduce(ReduceMode::kSum),
       {{3}, {1}},
       "target shape is Float32{1}, expected Int32 or Int64"},
      {MakeReduce(ReduceMode::kMax, 1), {{3, 0}}, "of no elements"},
      {MakeReduce(ReduceMode::kMean, 1), {{3, 0}}, "of no elements"},
  });
  const struct {
    std::vector<int64_t> target;
    const char* error;
  } kTargets[] = {{{2}, "{3,4} does not reduce to {2}"},
                  {{1, 3, 4}, "{3,4} does not reduce to {1,3,4}"},
                  {{3, -2}, "negative dimension"}};
  for (const auto& c : kTargets) {
    const HostTensor target = Int64Vector(c.target);
    const InputInfo x{{DType::kFloat32, {3, 4}}};
    const Reduce op({ReduceMode::kSum});
    EXPECT_TRUE(
        FailsWith(op.Infer({x, {{DType::kInt64, target.shape()}, &target}}).status(), c.error));
  }
  const Reduce mean({ReduceMode::kMean, 0}), sum({ReduceMode::kSum, 0});
  EXPECT_TRUE(FailsWith(mean.Infer({{{DType::kInt32, {3}}}}).status(), "expected floats"));
  EXPECT_TRUE(FailsWith(sum.Infer({{{DType::kBool, {3}}}}).status(), "expected numbers"));
}

TEST(Reduce, NamesAndParameters) {
  EXPECT_EQ(MakeReduce(ReduceMode::kSum, 1)->base_name(), "reduce0");
  EXPECT_EQ(MakeReduce(ReduceMode::kMean, 1)->base_name(), "reduce5");
  EXPECT_EQ(ToString(MakeReduce(ReduceMode::kMax, 1)->params()),
            "mode=MAX axis=1 data_type=DEFAULT");
  EXPECT_TRUE(IsOk(Operators().Make("Reduce", MakeReduce(ReduceMode::kMax, 1)->params()).status()));
}

}  // namespace
}  // namespace ashlar::testing

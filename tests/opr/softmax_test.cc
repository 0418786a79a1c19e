#include "opr/softmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeSoftmax(int64_t axis) {
  return std::make_shared<const Softmax>(SoftmaxParam{axis});
}

TEST(Softmax, EvaluatesItsDefinition) {
  const Shape shape{3, 4, 5};
  for (int64_t axis = -3; axis < 3; ++axis) {
    SCOPED_TRACE(axis);
    std::mt19937_64 random(axis + 10);
    const HostTensor x = RandomTensor(random, shape, -20, 20);
    const int64_t step = ContiguousStrides(shape)[axis < 0 ? axis + 3 : axis];
    const int64_t length = shape[axis < 0 ? axis + 3 : axis];
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t first = i - i / step % length * step;
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += std::exp(x.At(first + k * step));
      expected.push_back(std::exp(x.At(i)) / sum);
    }
    EXPECT_TRUE(Near(Evaluate(*MakeSoftmax(axis), {x}), expected, 1e-6));
  }
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {2}, {3e38f, 3e38f});
  EXPECT_TRUE(Near(Evaluate(*MakeSoftmax(-1), {x}), std::vector<double>{0.5, 0.5}, 1e-7));
}

TEST(Softmax, OfSixteenBitsIsInFloat32) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::mt19937_64 random(7);
    const HostTensor x = RandomTensor(random, dtype, Shape{3, 50}, -9, 9);
    HostTensor wide = HostTensor::Zeros(DType::kFloat32, x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) wide.Set(i, x.At(i));
    const HostTensor y = Evaluate(*MakeSoftmax(1), {x});
    EXPECT_EQ(y.dtype(), DType::kFloat32);
    EXPECT_TRUE(Near(y, Evaluate(*MakeSoftmax(1), {wide}), 0));
  }
}

TEST(Softmax, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakeSoftmax(0), {Shape()}, "axis"},
      {MakeSoftmax(2), {{3, 4}}, "axis"},
      {MakeSoftmax(-3), {{3, 4}}, "axis"},
  });
}

}  // namespace
}  // namespace ashlar::testing

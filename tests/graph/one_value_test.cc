// Tensors whose elements are all equal.
#include "graph/one_value.h"

#include <gtest/gtest.h>

namespace ashlar {
namespace {

TEST(OneValue, IsThereIfAllElementsAreEqual) {
  const auto floats = [](const std::vector<float>& values) {
    return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                         values);
  };
  EXPECT_TRUE(HasOneValue(floats({1, 1, 1})));
  EXPECT_TRUE(HasOneValue(floats({2})));
  EXPECT_FALSE(HasOneValue(floats({1, 1, 0})));
  EXPECT_FALSE(HasOneValue(floats({})));
  EXPECT_FALSE(HasOneValue(HostTensor::ShapeOnly(DType::kFloat32, {3})));
}

}  // namespace
}  // namespace ashlar

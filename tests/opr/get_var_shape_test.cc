#include "opr/get_var_shape.h"

#include <gtest/gtest.h>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeGetVarShape(int64_t axis = kNoAxis) {
  return std::make_shared<const GetVarShape>(GetVarShapeParam{axis});
}

TEST(GetVarShape, ReadsNoElement) {
  const HostTensor x = HostTensor::ShapeOnly(DType::kFloat32, {10, 2048, 1, 7});
  EXPECT_EQ(Evaluate(*MakeGetVarShape(), {x}).dtype(), DType::kInt32);
  EXPECT_TRUE(Near(Evaluate(*MakeGetVarShape(), {x}), {10, 2048, 1, 7}, 0));
  EXPECT_TRUE(Near(Evaluate(*MakeGetVarShape(1), {x}), {2048}, 0));
  EXPECT_TRUE(Near(Evaluate(*MakeGetVarShape(-1), {x}), {7}, 0));
  EXPECT_EQ(Evaluate(*MakeGetVarShape(), {HostTensor::ShapeOnly(DType::kInt8, {})}).shape(),
            Shape{0});
  EXPECT_EQ(FootprintOf(*MakeGetVarShape(),
                        OwnedSite{{{{DType::kFloat32, {1000}}}}, {{DType::kInt32, {1}}}})
                .memory,
            4);
}

TEST(GetVarShape, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakeGetVarShape(2), {{3, 4}}, "axis 2 is out of range"},
      {MakeGetVarShape(-3), {{3, 4}}, "axis -3 is out of range"},
      {MakeGetVarShape(),
       {{int64_t{1} << 32}},
       "dimension 4294967296 of {4294967296} does not fit Int32"},
      {MakeGetVarShape(), {{1}, {1}}, "2 inputs, expected 1"},
  });
}

}  // namespace
}  // namespace ashlar::testing

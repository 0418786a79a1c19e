#include "opr/type_cvt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

TEST(TypeCvt, RoundsAndSaturates) {
  const float inf = INFINITY;
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {7},
                                                     {1.75f, -1.75f, 300, -300, NAN, inf, -inf});
  const struct {
    DType dtype;
    std::vector<double> expected;
  } kCases[] = {
      {DType::kInt8, {1, -1, 127, -128, 0, 127, -128}},
      {DType::kUint8, {1, 0, 255, 0, 0, 255, 0}},
      {DType::kInt32, {1, -1, 300, -300, 0, 2147483647.0, -2147483648.0}},
      {DType::kInt64, {1, -1, 300, -300, 0, 0x1p63, -0x1p63}},
      {DType::kBool, {1, 1, 1, 1, 1, 1, 1}},
      {DType::kFloat16, {1.75, -1.75, 300, -300, NAN, inf, -inf}},
      {DType::kBFloat16, {1.75, -1.75, 300, -300, NAN, inf, -inf}},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(Near(Evaluate(TypeCvt({c.dtype}), {x}), c.expected, 0)) << Name(c.dtype);
  }
}

TEST(TypeCvt, BetweenAllDTypes) {
  Random random(1);
  for (const DType source : kPlainDTypes) {
    for (const DType target : kPlainDTypes) {
      const InputInfo info{{source, {2, 3}}};
      if (source == DType::kByte || target == DType::kByte) {
        EXPECT_TRUE(FailsWith(TypeCvt({target}).Infer({info}).status(), "Byte is opaque"));
        continue;
      }
      SCOPED_TRACE(absl::StrCat(Name(source), " to ", Name(target)));
      const HostTensor x = RandomTensor(random, source, {2, 3}, 0, 1.99);
      std::vector<double> expected = Values(x);
      for (double& value : expected) {
        if (target == DType::kBool) value = value != 0;
        if (!IsFloat(target)) value = std::floor(value);
      }
      EXPECT_TRUE(Near(Evaluate(TypeCvt({target}), {x}), expected, 8e-3));
    }
  }
}

TEST(TypeCvt, IsAViewOfItsOwnType) {
  const TensorType f{DType::kFloat32, {1, 16, 2, 2}}, h{DType::kFloat16, {1, 16, 2, 2}};
  TensorType blocked = f;
  blocked.format = Format::kNCHW16c;
  EXPECT_TRUE(ViewOf(TypeCvt({DType::kFloat32}), {{{f}}, {f}}));
  EXPECT_TRUE(ViewOf(TypeCvt({DType::kFloat32}), {{{blocked}}, {blocked}}));
  EXPECT_FALSE(ViewOf(TypeCvt({DType::kFloat32}), {{{blocked}}, {f}}));
  EXPECT_FALSE(ViewOf(TypeCvt({DType::kFloat16}), {{{f}}, {h}}));
}

}  // namespace
}  // namespace ashlar::testing

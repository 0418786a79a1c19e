#include "graph/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace ashlar {
namespace {

// Returns the value of a 16-bit float with the given widths, by its definition.
double Decode(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Codec {
  const char* name;
  int exponent_bits, fraction_bits;
  float (*decode)(uint16_t);
  uint16_t (*encode)(float);
  uint16_t infinity;
};

void PrintTo(const Codec& codec, std::ostream* out) { *out << codec.name; }

class SixteenBitFloatTest : public ::testing::TestWithParam<Codec> {};

TEST_P(SixteenBitFloatTest, AllValuesSurviveTheRoundTrip) {
  const Codec& codec = GetParam();
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double expected = Decode(bits, codec.exponent_bits, codec.fraction_bits);
    const float value = codec.decode(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(codec.decode(codec.encode(value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    ASSERT_EQ(codec.encode(value), bits);
  }
}

// Values between neighbours round to the nearer one, and from the middle to the even one.
TEST_P(SixteenBitFloatTest, RoundsToNearestEven) {
  const Codec& codec = GetParam();
  for (uint32_t i = 0; i + 1 < codec.infinity; ++i) {
    const auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
    const float middle = static_cast<float>(
        (static_cast<double>(codec.decode(low)) + static_cast<double>(codec.decode(high))) / 2);
    ASSERT_EQ(codec.encode(middle), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(codec.encode(std::nextafter(middle, 0.f)), low);
    ASSERT_EQ(codec.encode(std::nextafter(middle, INFINITY)), high);
    ASSERT_EQ(codec.encode(-middle), 0x8000 | (low % 2 == 0 ? low : high));
  }
}

TEST_P(SixteenBitFloatTest, LargeValuesBecomeInfinite) {
  const Codec& codec = GetParam();
  EXPECT_EQ(codec.encode(std::numeric_limits<float>::max()), codec.infinity);
  EXPECT_EQ(codec.encode(-INFINITY), 0x8000 | codec.infinity);
  EXPECT_EQ(codec.encode(std::numeric_limits<float>::denorm_min()), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, SixteenBitFloatTest,
    ::testing::Values(Codec{"Float16", 5, 10, HalfToFloat, FloatToHalf, 0x7c00},
                      Codec{"BFloat16", 8, 7, BFloat16ToFloat, FloatToBFloat16, 0x7f80}),
    [](const auto& info) { return info.param.name; });

TEST(FloatToHalfTest, HalfwayToInfinity) {
  EXPECT_EQ(FloatToHalf(65519.996f), 0x7bff);  // the largest finite half is 65504
  EXPECT_EQ(FloatToHalf(65520.f), 0x7c00);
}

TEST(HostTensorTest, SetSaturates) {
  HostTensor wide = HostTensor::Zeros(DType::kInt64, {2});
  wide.Set(0, 1e30);
  wide.Set(1, -1e30);
  EXPECT_EQ(wide.data<int64_t>()[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(wide.data<int64_t>()[1], std::numeric_limits<int64_t>::min());
  HostTensor byte = HostTensor::Zeros(DType::kUint8, {1});
  byte.Set(0, NAN);
  EXPECT_EQ(byte.data<uint8_t>()[0], 0);
}

// Each dtype has its row in the table of element functions.
TEST(HostTensorTest, EveryDTypeHoldsItsEnds) {
  struct Ends {
    DType dtype;
    double least, most;
  };
  constexpr double kMostFloat = std::numeric_limits<float>::max();
  constexpr double kMostDouble = std::numeric_limits<double>::max();
  const Ends kEnds[] = {
      {DType::kFloat32, -kMostFloat, kMostFloat},
      {DType::kFloat16, -65504, 65504},
      {DType::kBFloat16, -0x1.fep127, 0x1.fep127},
      {DType::kInt64, -0x1p63, 0x1p63},  // the nearest double
      {DType::kInt32, -0x1p31, 0x1p31 - 1},
      {DType::kInt8, -128, 127},
      {DType::kUint8, 0, 255},
      {DType::kByte, 0, 255},
      {DType::kBool, 0, 1},
      {DType::kFloat64, -kMostDouble, kMostDouble},
      {DType::kQuantized8Asymm, 0, 255},
      {DType::kQuantizedS8, -128, 127},
      {DType::kQuantizedS32, -0x1p31, 0x1p31 - 1},
      {DType::kUint16, 0, 65535},
      {DType::kInt16, -32768, 32767},
      {DType::kUint32, 0, 0x1p32 - 1},
      {DType::kUint64, 0, 0x1p64},  // the nearest double
  };
  ASSERT_EQ(std::size(kEnds), static_cast<size_t>(kNumDTypes));
  for (const Ends& ends : kEnds) {
    SCOPED_TRACE(Name(ends.dtype));
    HostTensor tensor = HostTensor::Zeros(ends.dtype, {3});
    tensor.Set(1, ends.most);
    tensor.Set(0, ends.least);
    EXPECT_EQ(tensor.At(0), ends.least);
    EXPECT_EQ(tensor.At(1), ends.most);
    EXPECT_EQ(tensor.At(2), 0);
    if (IsFloat(ends.dtype)) continue;
    HostTensor same = HostTensor::Zeros(ends.dtype, {3});
    for (int64_t i = 0; i < 3; ++i) same.SetInteger(i, tensor.IntegerAt(i));
    EXPECT_EQ(std::memcmp(same.raw(), tensor.raw(), static_cast<size_t>(same.bytes())), 0);
    if (ends.most < 0x1p62) {
      EXPECT_EQ(static_cast<double>(tensor.IntegerAt(0)), ends.least);
      EXPECT_EQ(static_cast<double>(tensor.IntegerAt(1)), ends.most);
    }
  }
}

TEST(HostTensorTest, SharesItsData) {
  const HostTensor a = HostTensor::FromValues<int32_t>(DType::kInt32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor b = a.Reshaped({3, 2});
  EXPECT_EQ(a.raw(), b.raw());
  EXPECT_EQ(b.At(5), 6);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.raw()) % 64, 0u);
  EXPECT_FALSE(HostTensor::ShapeOnly(DType::kInt32, {2}).has_data());
  EXPECT_TRUE(HostTensor::ShapeOnly(DType::kInt32, {0}).has_data());
}

TEST(HostTensorTest, DeferredBytesAreComputedWhenTheyAreAskedFor) {
  const HostTensor source = HostTensor::FromValues<int32_t>(DType::kInt32, {2, 2}, {1, 2, 3, 4});
  int made = 0;
  const HostTensor twice = HostTensor::Deferred(source, [&](const HostTensor& from) {
    ++made;
    HostTensor result = HostTensor::Zeros(from.dtype(), from.shape());
    for (int64_t i = 0; i < from.num_elements(); ++i) result.Set(i, 2 * from.At(i));
    return result;
  });
  EXPECT_TRUE(twice.has_data());
  EXPECT_EQ(twice.source().raw(), source.raw());
  EXPECT_EQ(source.source().raw(), source.raw());
  EXPECT_EQ(made, 0);
  // For one reader, who keeps the values.
  EXPECT_EQ(twice.Reshaped({4}).Computed().shape(), Shape({4}));
  EXPECT_EQ(twice.Computed().At(3), 8);
  EXPECT_EQ(made, 2);
  // For all readers, once.
  const HostTensor copy = twice;
  EXPECT_EQ(copy.At(1), 4);
  EXPECT_EQ(twice.data<int32_t>()[2], 6);
  EXPECT_EQ(copy.raw(), twice.raw());
  EXPECT_EQ(made, 3);
  EXPECT_EQ(source.Computed().raw(), source.raw());
}

}  // namespace
}  // namespace ashlar

// Integers of files and of outputs: nothing is cut off, clamped or rounded silently.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "opr/reshape.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tools/convert_elements.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using IntegerValuesTest = CommandTest;

constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kInt64BeyondDoubles = (int64_t{1} << 53) + 1;

HostTensor Int64s(std::vector<int64_t> values) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())},
                                         values);
}
HostTensor Doubles(std::vector<double> values) {
  return HostTensor::FromValues<double>(DType::kFloat64, {static_cast<int64_t>(values.size())},
                                        values);
}

TEST(ConvertElementsTest, IntegersOfTheDtypeStay) {
  const struct {
    HostTensor from;
    DType to;
  } cases[] = {
      {Int64s({-(int64_t{1} << 31), (int64_t{1} << 31) - 1, 0}), DType::kInt32},
      {Int64s({-128, 127}), DType::kInt8},
      {Int64s({0, 255}), DType::kUint8},
      {Int64s({-128, 127}), DType::kQuantizedS8},
      {Int64s({0, 255}), DType::kQuantized8Asymm},
      {Int64s({0, 1}), DType::kBool},
      {Doubles({-0.0, 3, -9007199254740992.0}), DType::kInt64},
      {Doubles({-0x1p63, 0x1p62}), DType::kInt64},
      {Int64s({kLeast64, kMost64, kInt64BeyondDoubles}), DType::kInt64},
  };
  for (const auto& c : cases) {
    const HostTensor to = Value(ConvertElements(c.from, c.to));
    EXPECT_EQ(to.dtype(), c.to);
    for (int64_t i = 0; i < to.num_elements(); ++i) {
      const int64_t expected = c.from.dtype() == DType::kInt64 ? c.from.IntegerAt(i)
                                                               : static_cast<int64_t>(c.from.At(i));
      EXPECT_EQ(to.IntegerAt(i), expected) << Name(c.to) << " element " << i;
    }
  }
}

TEST(ConvertElementsTest, NumbersThatTheDtypeDoesNotHoldAreRefused) {
  const struct {
    HostTensor from;
    DType to;
    std::string message;
  } cases[] = {
      {Int64s({7, (int64_t{1} << 31) + 5}), DType::kInt32,
       "element 1 is 2147483653, expected Int32: an integer from -2147483648 to 2147483647"},
      {Int64s({-129}), DType::kInt8, "expected Int8: an integer from -128 to 127"},
      {Int64s({128}), DType::kQuantizedS8, "an integer from -128 to 127"},
      {Int64s({-1}), DType::kUint8, "element 0 is -1, expected Uint8: an integer from 0 to 255"},
      {Int64s({256}), DType::kQuantized8Asymm, "an integer from 0 to 255"},
      {Int64s({2}), DType::kBool, "an integer from 0 to 1"},
      {Doubles({NAN}), DType::kInt64, "element 0 is nan, expected Int64"},
      {Doubles({1, INFINITY}), DType::kInt32, "element 1 is inf, expected Int32"},
      {Doubles({1.5}), DType::kUint8, "element 0 is 1.5, expected Uint8"},
      {Doubles({0x1p63}), DType::kInt64,
       absl::StrCat("expected Int64: an integer from ", kLeast64, " to ", kMost64)},
      {Doubles({1e300}), DType::kFloat32, "element 0 is 1e+300, which is infinite as Float32"},
      {Int64s({70000}), DType::kFloat16, "infinite as Float16"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<HostTensor> to = ConvertElements(c.from, c.to);
    ASSERT_FALSE(to.ok()) << c.message;
    EXPECT_THAT(std::string(to.status().message()), HasSubstr(c.message));
  }
}

TEST(ConvertElementsTest, FloatsAreRoundedOnce) {
  const int64_t tie = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;  // a double drops the last 1
  EXPECT_EQ(Value(ConvertElements(Int64s({tie}), DType::kFloat32)).data<float>()[0],
            0x1p54f + 0x1p31f);
  EXPECT_TRUE(std::isnan(Value(ConvertElements(Doubles({NAN}), DType::kFloat32)).At(0)));
  EXPECT_TRUE(std::isinf(Value(ConvertElements(Doubles({INFINITY}), DType::kFloat32)).At(0)));
}

// Returns a model that gives its integers back under another shape.
Graph Moves(DType dtype) {
  GraphMaker maker;
  const int x = maker.Input("x", {2}, dtype);
  const HostTensor shape = HostTensor::FromValues<int32_t>(DType::kInt32, {2}, {2, 1});
  maker.Output(maker.Add(Value(Operators().Make("Reshape", {})), {x, maker.Constant(shape)}, "y"));
  return std::move(maker).Build();
}

// Regression: they were clamped and cut off.
TEST_F(IntegerValuesTest, InputsOutOfRangeAreRefusedByFileAndElement) {
  ASSERT_TRUE(IsOk(WriteModel(Moves(DType::kInt32), Path("int32.ash"))));
  ASSERT_TRUE(IsOk(WriteModel(Moves(DType::kInt64), Path("int64.ash"))));
  ASSERT_TRUE(IsOk(WriteNpy(Int64s({1, (int64_t{1} << 31) + 5}), Path("large.npy"))));
  ASSERT_TRUE(IsOk(WriteNpy(Doubles({NAN, 1}), Path("nan.npy"))));
  ASSERT_TRUE(IsOk(WriteNpz({{"x", Doubles({1, 2.5})}}, Path("half.npz"))));
  for (const char* command : {"run", "verify", "compare"}) {
    ExpectEndings(
        absl::StrCat(command, " int32.ash --input "),
        {{"large.npy", 6, "large.npy: input 'x': element 1 is 2147483653, expected Int32"},
         {"nan.npy", 6, "nan.npy: input 'x': element 0 is nan"},
         {"half.npz", 6, "half.npz: input 'x': element 1 is 2.5"}});
  }
  ASSERT_TRUE(IsOk(WriteNpy(Int64s({kInt64BeyondDoubles, kMost64}), Path("exact.npy"))));
  ASSERT_EQ(Ashlar("run int64.ash --input exact.npy -o out.npz").exit_code, 0);
  const NamedTensors outputs = Value(ReadNpz(Path("out.npz")));
  EXPECT_EQ(outputs[0].second.IntegerAt(0), kInt64BeyondDoubles);
  EXPECT_EQ(outputs[0].second.IntegerAt(1), kMost64);
}

// Regression: integers were allowed to differ by a thousandth of the largest.
TEST_F(IntegerValuesTest, CompareWantsEqualIntegersUnlessGivenATolerance) {
  for (const auto& [dtype, near] :
       {std::pair(DType::kInt32, int64_t{1'000'001}), {DType::kInt64, kInt64BeyondDoubles}}) {
    SCOPED_TRACE(Name(dtype));
    const auto integers = [dtype = dtype](int64_t a, int64_t b) {
      return Value(ConvertElements(Int64s({a, b}), dtype));
    };
    ASSERT_TRUE(IsOk(WriteModel(Moves(dtype), Path("moves.ash"))));
    ASSERT_TRUE(IsOk(WriteNpy(integers(near - 1, 5), Path("x.npy"))));
    ASSERT_EQ(Ashlar("run moves.ash --input x.npy -o y.npz").exit_code, 0);
    const std::string name = Value(ReadNpz(Path("y.npz")))[0].first;
    ASSERT_TRUE(IsOk(WriteNpz({{name, integers(near, 5).Reshaped({2, 1})}}, Path("near.npz"))));
    const std::string compare = "compare moves.ash --input x.npy --ref ";
    EXPECT_EQ(Ashlar(compare + "y.npz").exit_code, 0);
    EXPECT_EQ(Ashlar(compare + "near.npz").exit_code, 5);
    EXPECT_EQ(Ashlar(compare + "near.npz --metric nmse").exit_code, 5);
    EXPECT_EQ(Ashlar(compare + "near.npz --rtol 1e-3").exit_code, 0);
    EXPECT_EQ(Ashlar(compare + "near.npz --atol 1").exit_code, 0);
    EXPECT_EQ(Ashlar(compare + "near.npz --atol 0 --rtol 0").exit_code, 5);
  }
}

}  // namespace
}  // namespace ashlar::testing

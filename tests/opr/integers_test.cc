// Operators on integers at the ends of their range: against arithmetic in 128 bits, of which the
// dtype's bits are kept.
#include <gtest/gtest.h>

#include <functional>

#include "opr/cum_sum.h"
#include "opr/elemwise.h"
#include "opr/reduce.h"
#include "opr/scatter.h"
#include "opr/top_k.h"
#include "opr/type_cvt.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using Wide = __int128;
using F = ScalarFunction;

// The number that a dtype makes of the lower bits of another.
int64_t Kept(DType dtype, Wide number) {
  switch (dtype) {
    case DType::kInt64:
      return static_cast<int64_t>(number);
    case DType::kInt32:
      return static_cast<int32_t>(number);
    case DType::kInt8:
      return static_cast<int8_t>(number);
    case DType::kUint16:
      return static_cast<uint16_t>(number);
    case DType::kInt16:
      return static_cast<int16_t>(number);
    case DType::kUint32:
      return static_cast<uint32_t>(number);
    case DType::kUint64:
      return static_cast<int64_t>(static_cast<uint64_t>(number));
    default:
      return static_cast<uint8_t>(number);
  }
}

// The number that a dtype's IntegerAt returns.
Wide Number(DType dtype, int64_t integer) {
  if (dtype == DType::kUint64) return static_cast<uint64_t>(integer);
  return integer;
}

HostTensor Column(DType dtype, const std::vector<int64_t>& values, const Shape& shape) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.SetInteger(static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

std::string Text(const HostTensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    absl::StrAppend(&text, tensor.IntegerAt(i), " ");
  }
  return text;
}

struct FunctionRow {
  F function;
  std::function<Wide(Wide a, Wide b, Wide c)> of;
};

// Products of two 64-bit integers and sums of them wrap around in 128 bits.
Wide Times(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
}
Wide Plus(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<unsigned __int128>(a) + static_cast<unsigned __int128>(b));
}

Wide Floored(Wide a, Wide b) {  // the remainder on the divisor's side of zero
  if (b == 0) return 0;
  const Wide rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

const FunctionRow kFunctions[] = {
    {F::kRelu, [](Wide a, Wide, Wide) { return a < 0 ? 0 : a; }},
    {F::kAbs, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; }},
    {F::kNegate, [](Wide a, Wide, Wide) { return -a; }},
    {F::kClamp, [](Wide a, Wide, Wide) { return a < -5         ? -5
                                                : a > 16777217 ? 16777217
                                                               : a; }},
    {F::kAdd, [](Wide a, Wide b, Wide) { return a + b; }},
    {F::kSub, [](Wide a, Wide b, Wide) { return a - b; }},
    {F::kMul, [](Wide a, Wide b, Wide) { return Times(a, b); }},
    {F::kMax, [](Wide a, Wide b, Wide) { return a < b ? b : a; }},
    {F::kMin, [](Wide a, Wide b, Wide) { return a < b ? a : b; }},
    {F::kFuseAddRelu, [](Wide a, Wide b, Wide) { return a + b < 0 ? 0 : a + b; }},
    {F::kFuseMulAdd3, [](Wide a, Wide b, Wide c) { return Plus(Times(a, b), c); }},
    {F::kIdentity, [](Wide a, Wide, Wide) { return a; }},
    {F::kSign, [](Wide a, Wide, Wide) { return (a > 0) - (a < 0); }},
    {F::kTruncDiv, [](Wide a, Wide b, Wide) { return b == 0 ? 0 : a / b; }},
    {F::kMod, [](Wide a, Wide b, Wide) { return Floored(a, b); }},
    {F::kFmod, [](Wide a, Wide b, Wide) { return b == 0 ? 0 : a % b; }},
    {F::kEqual, [](Wide a, Wide b, Wide) { return a == b; }},
    {F::kLess, [](Wide a, Wide b, Wide) { return a < b; }},
    {F::kLessOrEqual, [](Wide a, Wide b, Wide) { return a <= b; }},
    {F::kSelect, [](Wide a, Wide b, Wide c) { return a != 0 ? b : c; }},
    {F::kPRelu, [](Wide a, Wide b, Wide) { return a < 0 ? Times(a, b) : a; }},
};

// FuseAddRelu adds in 64 bits before it compares, so that of Int64 the sum wraps around first.
bool WrapsInside(F function, DType dtype) {
  return function == F::kFuseAddRelu && dtype == DType::kInt64;
}

TEST(IntegersTest, EveryFunctionOfIntegersIsExactAtTheEndsOfTheRange) {
  size_t defined = 0;
  for (size_t f = 0; f < kNumScalarFunctions; ++f) {
    defined += RowOf(static_cast<F>(f)).integers;
  }
  EXPECT_EQ(defined, std::size(kFunctions)) << "a function of integers is not tested";
  for (const FunctionRow& row : kFunctions) {
    for (const DType dtype : kIntegerDTypes) {
      if (WrapsInside(row.function, dtype)) continue;
      const std::vector<int64_t> edges = IntegerEdges(dtype);
      const auto n = static_cast<int64_t>(edges.size());
      const int64_t third = row.function == F::kSelect || row.function == F::kFuseMulAdd3 ? n : 1;
      std::vector<HostTensor> inputs = {Column(dtype, edges, {n, 1, 1}),
                                        Column(dtype, edges, {n, 1}), Column(dtype, edges, {n})};
      inputs.resize(static_cast<size_t>(Arity(row.function)));
      const Elemwise op({row.function, {-5, 16777217}});
      const HostTensor got = Value(op.Evaluate(inputs))[0];
      SCOPED_TRACE(absl::StrCat(RowOf(row.function).name, " ", Name(dtype)));
      const int64_t second = Arity(row.function) > 1 ? n : 1;
      ASSERT_EQ(got.num_elements(), n * second * (Arity(row.function) > 2 ? third : 1));
      for (int64_t i = 0; i < got.num_elements(); ++i) {
        const int64_t last = Arity(row.function) > 2 ? n : 1;
        const Wide a = Number(dtype, edges[static_cast<size_t>(i / (second * last))]);
        const Wide b = Number(dtype, edges[static_cast<size_t>(i / last % second)]);
        const Wide c = Number(dtype, edges[static_cast<size_t>(i % last)]);
        ASSERT_EQ(got.IntegerAt(i), Kept(dtype, row.of(a, b, c)))
            << "of " << static_cast<int64_t>(a) << ", " << static_cast<int64_t>(b) << ", "
            << static_cast<int64_t>(c);
      }
    }
  }
}

TEST(IntegersTest, ConversionsBetweenIntegersKeepTheLowerBits) {
  for (const DType from : kIntegerDTypes) {
    const std::vector<int64_t> edges = IntegerEdges(from);
    const HostTensor x = Column(from, edges, {static_cast<int64_t>(edges.size())});
    for (const DType to : kIntegerDTypes) {
      const HostTensor y = Value(TypeCvt({to}).Evaluate({x}))[0];
      for (size_t i = 0; i < edges.size(); ++i) {
        EXPECT_EQ(y.IntegerAt(static_cast<int64_t>(i)), Kept(to, Number(from, edges[i])))
            << Name(from);
      }
    }
    const HostTensor floats = Value(TypeCvt({DType::kFloat32}).Evaluate({x}))[0];
    for (size_t i = 0; i < edges.size(); ++i) {
      EXPECT_EQ(floats.data<float>()[i], static_cast<float>(Number(from, edges[i])));
    }
  }
}

TEST(IntegersTest, ReductionsAndSumsWrapAround) {
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  const std::vector<int64_t> values = {kLarge, kLarge + 2, -kLarge, INT64_MAX, INT64_MAX, 3};
  const HostTensor x = Column(DType::kInt64, values, {6});
  const auto reduced = [&](ReduceMode mode) {
    return Value(Reduce({mode, 0}).Evaluate({x}))[0].IntegerAt(0);
  };
  Wide sum = 0;
  uint64_t product = 1, squares = 0;
  std::vector<int64_t> sums;
  for (const int64_t value : values) {
    sum += value;
    sums.push_back(Kept(DType::kInt64, sum));
    product *= static_cast<uint64_t>(value);
    squares += static_cast<uint64_t>(value) * static_cast<uint64_t>(value);
  }
  EXPECT_EQ(reduced(ReduceMode::kSum), Kept(DType::kInt64, sum));
  EXPECT_EQ(reduced(ReduceMode::kProduct), static_cast<int64_t>(product));
  EXPECT_EQ(reduced(ReduceMode::kSumSqr), static_cast<int64_t>(squares));
  EXPECT_EQ(reduced(ReduceMode::kMax), INT64_MAX);
  EXPECT_EQ(reduced(ReduceMode::kMin), -kLarge);
  EXPECT_EQ(Text(Value(CumSum({0, false, false}).Evaluate({x}))[0]),
            Text(Column(DType::kInt64, sums, {6})));
  const std::vector<HostTensor> top = Value(TopK({0, 4, true}).Evaluate({x}));
  EXPECT_EQ(Text(top[0]),
            absl::StrCat(INT64_MAX, " ", INT64_MAX, " ", kLarge + 2, " ", kLarge, " "));
  EXPECT_EQ(Text(top[1]), "3 4 1 0 ");
  const HostTensor at = Column(DType::kInt64, {0, 0, 3}, {3});
  const HostTensor updates = Column(DType::kInt64, {1, 2, 1}, {3});
  EXPECT_EQ(Text(Value(ScatterElements({0, ScatterReduction::kAdd}).Evaluate({x, at, updates}))[0]),
            absl::StrCat(kLarge + 3, " ", kLarge + 2, " ", -kLarge, " ", INT64_MIN, " ", INT64_MAX,
                         " 3 "));
}

}  // namespace
}  // namespace ashlar::testing

#include "opr/integer_elemwise.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

void AddRandomCases(Cases& cases) {
  const std::pair<Shape, Shape> shapes[] = {
      {{2, 3, 5}, {2, 3, 5}}, {{40, 70}, {70}}, {{3, 1, 4}, {2, 1}}, {{}, {6}}, {{0, 3}, {3}}};
  for (size_t mode = 0; mode < std::size(kIntegerFunctionNames); ++mode) {
    const auto function = static_cast<IntegerFunction>(mode);
    for (const DType a : cases.scope().integers) {
      for (const DType b : cases.scope().integers) {
        const auto& [left, right] = shapes[static_cast<size_t>(cases.Pick(0, 4))];
        KernelCase test{kIntegerFunctionNames[mode],
                        Make<IntegerElemwise>({function}),
                        {cases.Tensor(a, left, -100, 100), cases.Tensor(b, right, -9, 40)}};
        test.tolerance = 0;
        test.threads = static_cast<int>(cases.Pick(1, 2));
        cases.Add(test);
        if (right.rank() > left.rank()) continue;
        test.inputs[1] = cases.Tensor(b, left, -9, 40);
        test.in_place = 0;
        cases.Add(test);
      }
    }
  }
}

template <typename A, typename B>
void AddKnownCase(Cases& cases, IntegerFunction function, DType a, std::vector<A> left, DType b,
                  std::vector<B> right, std::vector<A> expected) {
  const auto tensor = [](DType dtype, const auto& values) {
    return HostTensor::FromValues(dtype, {static_cast<int64_t>(values.size())},
                                  absl::MakeConstSpan(values));
  };
  KernelCase test{"known", Make<IntegerElemwise>({function}), {tensor(a, left), tensor(b, right)}};
  test.expected = {tensor(a, expected)};
  test.tolerance = 0;
  cases.AddKnown(test);
}

}  // namespace

template <>
void AddCases<IntegerElemwise>(Cases& cases) {
  AddRandomCases(cases);
  using F = IntegerFunction;
  const auto i64 = DType::kInt64;
  const auto u8 = DType::kUint8;
  const auto i8 = DType::kInt8;
  const int64_t large = (int64_t{1} << 53) + 1;  // not exact in double
  AddKnownCase<int64_t, int64_t>(cases, F::kXor, i64, {large, -1}, i64, {2, 5}, {large + 2, -6});
  AddKnownCase<uint8_t, uint8_t>(cases, F::kAnd, u8, {0xF0, 7}, u8, {0x3C, 255}, {0x30, 7});
  AddKnownCase<uint8_t, uint8_t>(cases, F::kShiftLeft, u8, {16, 200, 1, 1}, u8, {1, 1, 8, 0},
                                 {32, 144, 0, 1});
  AddKnownCase<int8_t, int8_t>(cases, F::kShiftRight, i8, {-4, -4, 100, 100}, i8, {1, 9, -1, 2},
                               {-2, -1, 0, 25});
  AddKnownCase<int64_t, int8_t>(cases, F::kPow, i64, {3, 2, -1, 2, 0}, i8, {39, 63, -3, -1, 0},
                                {4052555153018976267, INT64_MIN, -1, 0, 1});
  AddKnownCase<uint8_t, uint8_t>(cases, F::kAdd, u8, {200}, u8, {100}, {44});
  AddKnownCase<uint8_t, uint8_t>(cases, F::kSub, u8, {3}, u8, {5}, {254});
  AddKnownCase<int8_t, int8_t>(cases, F::kMul, i8, {100}, i8, {3}, {44});
  if (cases.Computes(DType::kUint64)) {
    const auto u64 = DType::kUint64;
    const uint64_t top = uint64_t{1} << 63;
    AddKnownCase<uint64_t, uint64_t>(cases, F::kShiftRight, u64, {top + 6, top, 5}, u64,
                                     {1, 64, top}, {top / 2 + 3, 0, 0});
    AddKnownCase<uint64_t, uint64_t>(cases, F::kPow, u64, {3, UINT64_MAX}, u64, {40, top + 1},
                                     {12157665459056928801u, UINT64_MAX});
    AddKnownCase<int64_t, uint64_t>(cases, F::kPow, i64, {-1, -1}, u64, {top, top + 1}, {1, -1});
    AddKnownCase<uint64_t, int64_t>(cases, F::kPow, u64, {UINT64_MAX, 1}, i64, {-1, -1}, {0, 1});
  }
  const OperatorPtr op = Make<IntegerElemwise>({F::kOr});
  cases.Reject({{op, {{2}}, "1 inputs, expected 2"},
                {op, {{2}, {2}}, "input 0 is Float32, expected integers"}});
}

}  // namespace ashlar::testing

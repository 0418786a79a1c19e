#include "opr/scatter.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

template <typename Op>
void AddOf(Cases& cases, typename Op::Param param, const Shape& x, const HostTensor& indices,
           const Shape& updates) {
  for (const DType dtype : cases.WithIntegers({DType::kFloat32, DType::kFloat16})) {
    KernelCase test{"scatter",
                    Make<Op>(param),
                    {cases.Tensor(dtype, x, -9, 9), indices, cases.Tensor(dtype, updates, -9, 9)}};
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
    test.in_place = 0;
    cases.Add(test);
    if (IsFloat(dtype)) continue;
    test.inputs = {cases.Integers(dtype, x), indices, cases.Integers(dtype, updates)};
    cases.Add(test);
  }
}

constexpr ScatterReduction kReductions[] = {ScatterReduction::kNone, ScatterReduction::kAdd,
                                            ScatterReduction::kMul, ScatterReduction::kMax,
                                            ScatterReduction::kMin};

}  // namespace

template <>
void AddCases<ScatterElements>(Cases& cases) {
  for (const ScatterReduction reduction : kReductions) {
    for (const DType index : {DType::kInt64, DType::kInt32}) {
      AddOf<ScatterElements>(cases, {0, reduction}, {5, 4}, cases.Tensor(index, {3, 4}, -5, 4),
                             {3, 4});
      AddOf<ScatterElements>(cases, {-1, reduction}, {2, 3, 6},
                             cases.Tensor(index, {2, 2, 5}, -6, 5), {2, 2, 5});
    }
  }
}

template <>
void AddCases<ScatterND>(Cases& cases) {
  for (const ScatterReduction reduction : kReductions) {
    AddOf<ScatterND>(cases, {reduction}, {4, 4, 3}, cases.Tensor(DType::kInt64, {5, 2}, -4, 3),
                     {5, 3});
    AddOf<ScatterND>(cases, {reduction}, {6}, cases.Tensor(DType::kInt32, {2, 2, 1}, -6, 5),
                     {2, 2});
    AddOf<ScatterND>(cases, {reduction}, {4, 600}, cases.Tensor(DType::kInt64, {3, 1}, -4, 3),
                     {3, 600});
  }
}

}  // namespace ashlar::testing

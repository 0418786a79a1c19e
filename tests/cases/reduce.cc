#include "opr/reduce.h"

#include <limits>

#include "tests/cases/cases.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

constexpr ReduceMode kReduceModes[] = {ReduceMode::kSum, ReduceMode::kSumSqr, ReduceMode::kProduct,
                                       ReduceMode::kMin, ReduceMode::kMax,    ReduceMode::kMean};

// Reduces down to a shape.
struct Row {
  Shape input;
  std::vector<int32_t> target;
};
const Row kRows[] = {
    {{2, 35, 7, 9}, {2, 35, 1, 1}},
    {{2, 35, 7, 9}, {1, 35, 1, 1}},
    {{2, 35, 7, 9}, {1, 1, 7, 9}},
    {{2, 35, 7, 9}, {2, 1, 7, 1}},
    {{2, 35, 7, 9}, {1, 35, 1, 9}},
    {{2, 35, 7, 9}, {1, 1, 1, 1}},
    {{2, 35, 7, 9}, {1}},
    {{2, 35, 7, 9}, {2, 35, 7, 9}},
    {{0, 3}, {1, 3}},
    {{4, 0}, {4, 0}},
    {{4, 3, 5, 2}, {3, 1, 2}},
};

// Returns values around 1, so that products neither vanish nor overflow.
HostTensor Values(Cases& cases, DType dtype, const Shape& shape) {
  return IsFloat(dtype) ? cases.Tensor(dtype, shape, 0.9, 1.1) : cases.Tensor(dtype, shape, 1, 2.3);
}

void Add(Cases& cases, const ReduceParam& param, std::vector<HostTensor> inputs, double tolerance) {
  KernelCase test{"reduce", Make<Reduce>(param), std::move(inputs)};
  test.tolerance = tolerance;
  test.large = test.inputs[0].num_elements() > 5000;
  cases.Add(std::move(test));
}

}  // namespace

template <>
void AddCases<Reduce>(Cases& cases) {
  for (const ReduceMode mode : kReduceModes) {
    for (const Shape& shape : {Shape{2, 35, 7, 9}, Shape{1000}, Shape{3, 1, 500}, Shape{130, 257},
                               Shape{2, 3, 1, 2, 5}, Shape{3, 5, 70, 4}, Shape{2, 3, 4, 200}}) {
      for (int64_t axis = -1; axis < shape.rank(); ++axis) {
        Add(cases, {mode, axis}, {Values(cases, DType::kFloat32, shape)}, 1e-6);
      }
    }
    for (const auto& row : kRows) {
      if (row.input.num_elements() == 0 && mode >= ReduceMode::kMin) continue;
      Add(cases, {mode, kNoAxis},
          {Values(cases, DType::kFloat32, row.input), Int32Vector(row.target)}, 1e-6);
    }
    for (const DType dtype : cases.WithIntegers({DType::kFloat16, DType::kBFloat16})) {
      if (mode == ReduceMode::kMean && !IsFloat(dtype)) continue;  // integers have no mean
      for (int64_t axis = 0; axis < 2; ++axis) {
        const double tolerance = IsFloat(dtype) ? 0.01 : 0;
        Add(cases, {mode, axis}, {Values(cases, dtype, {19, 37})}, tolerance);
        Add(cases, {mode, axis}, {Values(cases, dtype, {4, 9})}, tolerance);
        if (IsFloat(dtype)) continue;
        Add(cases, {mode, axis}, {cases.Integers(dtype, {19, 70})}, 0);
      }
    }
  }
  // Extremes propagate NaN.
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {3, 40});
  x.Set(40, std::numeric_limits<double>::quiet_NaN());
  x.Set(119, std::numeric_limits<double>::quiet_NaN());
  for (const ReduceMode mode : {ReduceMode::kMin, ReduceMode::kMax}) {
    for (int64_t axis = 0; axis < 2; ++axis) Add(cases, {mode, axis}, {x}, 0);
  }
}

}  // namespace ashlar::testing

#include "opr/split.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<Split>(Cases& cases) {
  const auto numbers = [](const Shape& shape, const std::vector<int32_t>& values) {
    return HostTensor::FromValues<int32_t>(DType::kInt32, shape, values);
  };
  KernelCase columns{"known", Make<Split>({-1, {1, 2}}), {numbers({2, 3}, {0, 1, 2, 3, 4, 5})}};
  columns.tolerance = 0;
  columns.expected = {numbers({2, 1}, {0, 3}), numbers({2, 2}, {1, 2, 4, 5})};
  cases.AddKnown(columns);
  KernelCase rows{"known", Make<Split>({0, {1, 1, 0}}), columns.inputs};
  rows.tolerance = 0;
  rows.expected = {numbers({1, 3}, {0, 1, 2}), numbers({1, 3}, {3, 4, 5}), numbers({0, 3}, {})};
  cases.AddKnown(rows);

  struct {
    Shape input;
    int64_t axis;
    std::vector<int64_t> sizes;
  } const kRows[] = {
      {{7}, 0, {3, 4}},          {{2, 10, 4, 5}, 1, {3, 7}},    {{6, 35, 4, 5}, 0, {1, 2, 3}},
      {{1, 8, 6, 6}, 1, {4, 4}}, {{2, 8, 6, 6}, -1, {1, 4, 1}}, {{5, 6}, 1, {6}},
      {{3, 4}, 0, {0, 3}},       {{0, 4}, 1, {1, 3}},           {{2, 300, 70}, 1, {100, 200}},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    for (const auto& row : kRows) {
      KernelCase test{
          "split", Make<Split>({row.axis, row.sizes}), {cases.Tensor(dtype, row.input, -50, 50)}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
  for (const DType dtype : kBytes) {
    for (const auto& row : kRows) {
      AddMoved(cases,
               {"split",
                Make<Split>({row.axis, row.sizes}),
                {QuantizedTensor(cases, dtype, row.input, {0.25f}, 5)}},
               row.input.rank() == 4);
    }
  }
  cases.Reject({
      {Make<Split>({0, {1}}), {Shape()}, "axis"},
      {Make<Split>({0, {}}), {{3, 4}}, "sizes"},
      {Make<Split>({0, {1, 1}}), {{3, 4}}, "sizes"},
      {Make<Split>({0, {4, -1}}), {{3, 4}}, "sizes"},
      {Make<Split>({0, {2, 2}}), {{3, 4}}, "sizes"},
  });
}

}  // namespace ashlar::testing

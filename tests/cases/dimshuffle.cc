#include "opr/dimshuffle.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<Dimshuffle>(Cases& cases) {
  const std::pair<Shape, std::vector<int64_t>> kRows[] = {
      {{2, 3, 4, 5}, {0, 2, 3, 1}},
      {{2, 3, 4, 5}, {3, 2, 1, 0}},
      {{300, 200}, {1, 0}},
      {{1, 5, 1, 3}, {3, 1}},
      {{5, 3}, {1, -1, 0, -1}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{0, 3}, {1, 0}},
      {{64, 1, 50, 60}, {2, 0, 3}},
      {{4, 6, 8}, {2, -1, 0, 1}},
  };
  for (const auto& [input, pattern] : kRows) {
    for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16, DType::kInt64}) {
      KernelCase test{
          "dimshuffle", Make<Dimshuffle>({pattern}), {cases.Tensor(dtype, input, -100, 100)}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
  for (const auto& [input, pattern] : kRows) {
    for (const DType dtype : kBytes) {
      AddMoved(cases,
               {"dimshuffle",
                Make<Dimshuffle>({pattern}),
                {QuantizedTensor(cases, dtype, input, {0.25f}, 5)}},
               false);
    }
  }
}

}  // namespace ashlar::testing

#include "opr/expand.h"

#include "tests/cases/cases.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

template <>
void AddCases<Expand>(Cases& cases) {
  const struct {
    Shape shape;
    std::vector<int64_t> target;
  } kRows[] = {
      {{3, 1}, {3, 7}},       {{1, 5}, {4, 3, 1}}, {{2, 1, 4, 1}, {1, 3, 1, 5}},   {{4}, {4}},
      {{2, 3}, {1, 1}},       {{}, {2, 2}},        {{1, 33, 1, 1}, {2, 33, 9, 8}}, {{3, 1}, {3, 0}},
      {{1, 1, 1}, {5, 1, 6}},
  };
  for (const auto& row : kRows) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kInt32,
                              DType::kInt8, DType::kBool}) {
      KernelCase test{"expand",
                      Make<Expand>({}),
                      {cases.Tensor(dtype, row.shape, -50, 50), Int64Vector(row.target)}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
}

}  // namespace ashlar::testing

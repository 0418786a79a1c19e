#include "opr/assign.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<Assign>(Cases& cases) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    for (const Shape& shape : {Shape{3, 70, 401}, Shape{5, 7}}) {
      KernelCase test{"assign",
                      Make<Assign>({}),
                      {cases.Tensor(dtype, shape, -100, 100), cases.Tensor(dtype, shape, -1, 1)}};
      test.tolerance = test.gpu_tolerance = 0;
      for (const bool in_place : {false, true}) {
        test.in_place = in_place ? std::optional<int>(1) : std::nullopt;
        cases.Add(test);
      }
    }
  }
  cases.Reject({{Make<Assign>({}), {{2}}, "1 inputs, expected 2"},
                {Make<Assign>({}), {{2}, {3}}, "expected the state's"}});
}

}  // namespace ashlar::testing

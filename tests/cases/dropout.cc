#include "opr/dropout.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<Dropout>(Cases& cases) {
  cases.Reject({{Make<Dropout>({}), {{2, 3}, {1}}, "step is Float32{1}, expected one Int32"},
                {Make<Dropout>({}), {{2, 3}}, "1 inputs, expected 2"}});
  for (const Shape& shape : {Shape{7}, Shape{2, 35, 5, 7}, Shape{50000}, Shape{1, 1}}) {
    for (const double probability : {0.0, 0.1, 0.5, 0.99}) {
      for (const DType dtype : {DType::kInt32, DType::kInt64}) {
        for (const DType of_x : cases.scope().floats) {
          KernelCase test{"dropout",
                          Make<Dropout>({probability, 17}),
                          {cases.Tensor(of_x, shape), cases.Tensor(dtype, {1}, 0, 1000)}};
          test.floor = 1e-6;
          cases.Add(test);
          test.in_place = 0;
          test.threads = 2;
          cases.Add(test);
        }
      }
    }
  }
}

}  // namespace ashlar::testing

#include "opr/cum_sum.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<CumSum>(Cases& cases) {
  for (const Shape& shape : {Shape{10, 100}, Shape{7}, Shape{2, 5, 70, 3}, Shape{1, 1}}) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      for (const bool exclusive : {false, true}) {
        for (const bool reverse : {false, true}) {
          for (const DType dtype : cases.WithIntegers({DType::kFloat32, DType::kFloat16})) {
            KernelCase test{"cum_sum",
                            Make<CumSum>({axis, exclusive, reverse}),
                            {cases.Tensor(dtype, shape, -9, 9)}};
            cases.Add(test);
            test.in_place = 0;
            cases.Add(test);
            if (IsFloat(dtype)) continue;
            test.inputs = {cases.Integers(dtype, shape)};
            test.tolerance = test.gpu_tolerance = 0;
            cases.Add(test);
          }
        }
      }
    }
  }
}

}  // namespace ashlar::testing

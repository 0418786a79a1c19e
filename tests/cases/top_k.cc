#include "opr/top_k.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<TopK>(Cases& cases) {
  for (const Shape& shape : {Shape{10, 300}, Shape{7}, Shape{2, 5, 70, 3}, Shape{3, 0}}) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{5}, shape[static_cast<int>(axis)]}) {
        if (k > shape[static_cast<int>(axis)]) continue;
        for (const bool largest : {false, true}) {
          for (const DType dtype : cases.WithIntegers(cases.scope().floats)) {
            KernelCase test{"top_k",
                            Make<TopK>({axis, k, largest}),
                            {cases.Tensor(dtype, shape, -9, 9)}};  // integers are often equal
            test.tolerance = test.gpu_tolerance = 0;
            cases.Add(test);
            if (IsFloat(dtype)) continue;
            test.inputs = {cases.Integers(dtype, shape)};
            cases.Add(test);
          }
        }
      }
    }
  }
}

}  // namespace ashlar::testing

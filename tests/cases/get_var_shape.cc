#include "opr/get_var_shape.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<GetVarShape>(Cases& cases) {
  for (const Shape& shape : {Shape{4, 50, 3}, Shape{4, 6, 1}}) {
    KernelCase test{"shape", Make<GetVarShape>({}), {cases.Tensor(shape)}};
    test.tolerance = test.gpu_tolerance = 0;
    cases.Add(test);
  }
}

}  // namespace ashlar::testing

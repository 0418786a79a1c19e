#include "opr/softmax.h"

#include "tests/cases/doubles.h"

namespace ashlar::testing {

template <>
void AddCases<Softmax>(Cases& cases) {
  for (const Shape& shape : {Shape{10, 1000}, Shape{7}, Shape{2, 5, 70, 3}, Shape{300, 300},
                             Shape{1, 1}, Shape{3, 40, 33}, Shape{5, 1}}) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      for (const DType dtype : cases.scope().floats) {
        KernelCase test{"softmax",
                        Make<Softmax>({axis}),
                        {dtype == DType::kFloat32 ? cases.Tensor(dtype, shape, 82, 98)
                                                  : cases.Tensor(dtype, shape, -9, 9)}};
        test.floor = dtype == DType::kFloat32 ? 1e-30 : -1;
        test.large = shape.num_elements() > 2000 && shape != Shape{3, 40, 33};
        cases.Add(test);
        if (dtype != DType::kFloat32) continue;  // the output is Float32, whatever the input
        test.in_place = 0;
        cases.Add(test);
        test.inputs = {InDType(test.inputs[0], DType::kFloat64)};
        for (const bool in_place : {true, false}) {
          if (!in_place) test.in_place = std::nullopt;
          AddOfDoubles(cases, test, 1e-13);
        }
      }
    }
  }
}

}  // namespace ashlar::testing

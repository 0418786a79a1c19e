#include "opr/arg_reduce.h"

#include <cmath>

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<ArgReduce>(Cases& cases) {
  for (const Shape& shape :
       {Shape{10, 100}, Shape{7}, Shape{2, 5, 70, 3}, Shape{3, 40, 33}, Shape{1, 1}}) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      for (const ArgReduceMode mode : {ArgReduceMode::kMax, ArgReduceMode::kMin}) {
        for (const bool last : {false, true}) {
          for (const DType dtype : cases.WithIntegers({DType::kFloat32})) {
            KernelCase test{
                "arg_reduce", Make<ArgReduce>({mode, axis, last}), {cases.Tensor(dtype, shape)}};
            test.tolerance = test.gpu_tolerance = 0;
            cases.Add(test);
            if (!IsFloat(dtype)) {
              test.inputs = {cases.Integers(dtype, shape)};
              cases.Add(test);
            }
            // Many equal elements.
            for (int64_t i = 0; dtype == DType::kFloat32 && i < shape.num_elements(); ++i) {
              if (i == 0) test.inputs = {HostTensor::Zeros(dtype, shape)};
              test.inputs[0].Set(i, static_cast<double>(cases.Pick(0, 2)));
            }
            if (dtype == DType::kFloat32) cases.Add(test);
          }
        }
      }
    }
  }
  for (const bool last : {false, true}) {
    const auto special =
        HostTensor::FromValues<float>(DType::kFloat32, {6}, {1, NAN, INFINITY, NAN, -INFINITY, 2});
    KernelCase test{"NaN", Make<ArgReduce>({ArgReduceMode::kMin, 0, last}), {special}};
    cases.Add(test);
  }
}

}  // namespace ashlar::testing

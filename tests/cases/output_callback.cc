#include "opr/host_io.h"
#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<OutputCallback>(Cases& cases) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    for (const Shape& shape : {Shape{3, 70, 401}, Shape{5, 7}}) {
      KernelCase test{"output", Make<OutputCallback>({}), {cases.Tensor(dtype, shape, -100, 100)}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
  for (const DType dtype : kBytes) {
    const HostTensor x = QuantizedTensor(cases, dtype, {3, 5, 7}, {0.25f}, 5);
    AddMoved(cases, {"output", Make<OutputCallback>({}), {x}}, false);
  }
}

}  // namespace ashlar::testing

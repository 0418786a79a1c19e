#include "opr/reshape.h"

#include "tests/cases/quantized.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

template <>
void AddCases<Reshape>(Cases& cases) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    const auto add = [&](const Shape& shape, std::vector<int32_t> target) {
      KernelCase test{"reshape",
                      Make<Reshape>({}),
                      {cases.Tensor(dtype, shape, -50, 50), Int32Vector(std::move(target))}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    };
    add({4, 50, 300}, {2, -1});
    add({4, 6}, {3, 8});
  }
  for (const DType dtype : kBytes) {
    const HostTensor x = QuantizedTensor(cases, dtype, {5, 6, 7}, {0.25f}, 5);
    AddMoved(cases, {"reshape", Make<Reshape>({}), {x, Int32Vector({3, -1})}}, false);
  }
}

}  // namespace ashlar::testing

#include "opr/gather.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {
namespace {

// Returns indices in [-size, size).
HostTensor Indices(Cases& cases, DType dtype, const Shape& shape, int64_t size) {
  return cases.Tensor(dtype, shape, static_cast<double>(-size), static_cast<double>(size - 1));
}

// Adds each of an operator's cases, of several dtypes.
template <typename Op>
void AddOf(Cases& cases, typename Op::Param param, const Shape& x, const Shape& indices,
           int64_t size) {
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kFloat16, DType::kInt8}) {
    for (const DType index : {DType::kInt64, DType::kInt32}) {
      KernelCase test{"gather",
                      Make<Op>(param),
                      {cases.Tensor(dtype, x, -50, 50), Indices(cases, index, indices, size)}};
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
}

}  // namespace

template <>
void AddCases<Gather>(Cases& cases) {
  AddOf<Gather>(cases, {0}, {7, 5}, {3}, 7);
  AddOf<Gather>(cases, {1}, {7, 5}, {2, 3}, 5);
  AddOf<Gather>(cases, {-1}, {3, 4, 5}, {6}, 5);
  AddOf<Gather>(cases, {1}, {3, 4, 5}, {}, 4);
  AddOf<Gather>(cases, {2}, {1, 33, 9, 4}, {1, 5}, 9);
  AddOf<Gather>(cases, {0}, {1000, 64}, {40}, 1000);
  AddOf<Gather>(cases, {0}, {4, 3}, {0}, 4);
  AddOf<Gather>(cases, {0}, {5}, {2, 2}, 5);
  for (const DType dtype : kBytes) {
    KernelCase test{"gather",
                    Make<Gather>({1}),
                    {QuantizedTensor(cases, dtype, {2, 9, 5}, {0.25f}, dtype == kBytes[0] ? 5 : 0),
                     Indices(cases, DType::kInt32, {4}, 9)}};
    test.tolerance = 0;
    cases.Add(test);
  }
}

template <>
void AddCases<GatherElements>(Cases& cases) {
  AddOf<GatherElements>(cases, {0}, {5, 4}, {3, 4}, 5);
  AddOf<GatherElements>(cases, {1}, {5, 4}, {5, 9}, 4);
  AddOf<GatherElements>(cases, {-2}, {2, 6, 5}, {1, 8, 3}, 6);
  AddOf<GatherElements>(cases, {0}, {9}, {4}, 9);
}

template <>
void AddCases<GatherND>(Cases& cases) {
  AddOf<GatherND>(cases, {0}, {4, 4, 3}, {5, 2}, 4);
  AddOf<GatherND>(cases, {0}, {4, 4, 3}, {2, 3, 1}, 4);
  AddOf<GatherND>(cases, {1}, {3, 4, 5}, {3, 2, 1}, 4);
  AddOf<GatherND>(cases, {2}, {2, 3, 4, 5}, {2, 3, 1}, 4);
  AddOf<GatherND>(cases, {0}, {3, 3, 3}, {3}, 3);
}

}  // namespace ashlar::testing

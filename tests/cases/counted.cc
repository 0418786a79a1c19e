#include "opr/counted.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

HostTensor CountOf(int64_t count) {
  HostTensor tensor = HostTensor::Zeros(DType::kInt64, {});
  tensor.SetInteger(0, count);
  return tensor;
}

}  // namespace

// GPUs refuse operators of tensors whose sizes depend on data.
template <>
void AddCases<NonZero>(Cases& cases) {
  cases.Reject({{Make<NonZero>({7}), {{2, 3}}, "at_most is 7"},
                {Make<NonZero>({0}), {{}}, "rank 1 or more"}});
  if (cases.on_gpu()) return;
  for (const Shape& shape : {Shape{9}, Shape{4, 5}, Shape{2, 3, 4}, Shape{3, 0}}) {
    for (const DType dtype : cases.WithIntegers({DType::kFloat32, DType::kFloat64, DType::kBool})) {
      KernelCase test{
          "non_zero", Make<NonZero>({shape.num_elements()}), {cases.Tensor(dtype, shape, 0, 1.5)}};
      for (int64_t i = 0; i < shape.num_elements(); i += 2) test.inputs[0].Set(i, 0);
      test.tolerance = 0;
      cases.Add(test);
    }
  }
}

template <>
void AddCases<IndicesWithin>(Cases& cases) {
  cases.Reject({{Make<IndicesWithin>({}), {{2}, {}}, "expected a count"}});
  if (cases.on_gpu()) return;
  for (const DType dtype : {DType::kInt64, DType::kInt32}) {
    KernelCase test{"indices_within",
                    Make<IndicesWithin>({}),
                    {cases.Tensor(dtype, {4, 5}, -7, 6), CountOf(7)}};
    test.tolerance = 0;
    cases.Add(test);
    for (const int64_t axis : {0, 1}) {
      test.op = Make<IndicesWithin>({axis});
      test.inputs = {cases.Tensor(dtype, {4, 5}, -7, 6), CountOf(7), CountOf(3)};
      cases.Add(test);
    }
    // Only fill may be out of range.
    test.op = Make<IndicesWithin>({0});
    test.inputs = {cases.Tensor(dtype, {4, 5}, 50, 60), CountOf(0), CountOf(0)};
    cases.Add(test);
  }
}

template <>
void AddCases<CheckCount>(Cases& cases) {
  cases.Reject({{Make<CheckCount>({false, "k"}), {{}, {}}, "expected a count"}});
  if (cases.on_gpu()) return;
  KernelCase test{"check_count", Make<CheckCount>({false, "k"}), {CountOf(3), CountOf(3)}};
  test.tolerance = 0;
  cases.Add(test);
  test.op = Make<CheckCount>({true, "k"});
  test.inputs[1] = CountOf(4);
  cases.Add(test);
}

}  // namespace ashlar::testing

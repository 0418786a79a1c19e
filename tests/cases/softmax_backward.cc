#include "opr/softmax_backward.h"

#include "opr/log_softmax.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {
namespace {

const std::vector<Shape>& Shapes() {
  static const auto* const shapes =
      new std::vector<Shape>{{10, 1000}, {7}, {2, 5, 70, 3}, {1, 1}, {3, 40, 33}, {5, 1}};
  return *shapes;
}

// Adds the test with an output of its own, and in place of each of its inputs.
void AddInPlace(Cases& cases, KernelCase test) {
  test.large = test.inputs[0].num_elements() > 4000;
  cases.Add(test);
  for (int i = 0; i < static_cast<int>(test.inputs.size()); ++i) {
    test.in_place = i;
    cases.Add(test);
  }
}

}  // namespace

template <>
void AddCases<LogSoftmax>(Cases& cases) {
  for (const Shape& shape : Shapes()) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      KernelCase test{"log_softmax", Make<LogSoftmax>({axis}), {cases.Tensor(shape, -9, 9)}};
      test.floor = 1;  // for a difference of numbers of this size
      AddInPlace(cases, std::move(test));
    }
  }
}

template <>
void AddCases<SoftmaxBackward>(Cases& cases) {
  for (const Shape& shape : Shapes()) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      AddInPlace(cases, {"softmax_grad",
                         Make<SoftmaxBackward>({axis}),
                         {cases.Tensor(shape, 0, 1), cases.Tensor(shape)}});
    }
  }
  cases.Reject({{Make<SoftmaxBackward>({0}), {{2, 3}, {3, 2}}, "diff is Float32{3,2}"},
                {Make<SoftmaxBackward>({2}), {{2, 3}, {2, 3}}, "axis 2 is out of range"},
                {Make<LogSoftmax>({2}), {{2, 3}}, "axis 2 is out of range"}});
}

}  // namespace ashlar::testing

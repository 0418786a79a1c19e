#include "opr/layer_norm.h"

#include <cmath>

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<LayerNorm>(Cases& cases) {
  // A row of mean 3 and variance 14 / 3, and a row without variance.
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {2, 3}, {1, 2, 6, 5, 5, 5});
  const HostTensor scale = HostTensor::FromValues<float>(DType::kFloat32, {3}, {1, 2, 3});
  const HostTensor bias = HostTensor::FromValues<float>(DType::kFloat32, {3}, {0, 10, -1});
  const float s = 1 / std::sqrt(14.0f / 3 + 1);
  const auto known = [&](const std::vector<HostTensor>& inputs, const std::vector<float>& y) {
    KernelCase test{"known", Make<LayerNorm>({-1, 1}), inputs};
    test.expected = {HostTensor::FromValues<float>(DType::kFloat32, {2, 3}, y)};
    cases.AddKnown(test);
  };
  known({x}, {-2 * s, -s, 3 * s, 0, 0, 0});
  known({x, scale, bias}, {-2 * s, -2 * s + 10, 9 * s - 1, 0, 10, -1});

  for (const Shape& shape : {Shape{10, 768}, Shape{7}, Shape{2, 5, 70, 3}, Shape{3, 40, 33},
                             Shape{1, 1}, Shape{300, 1}}) {
    for (int64_t axis = -1; axis < shape.rank(); ++axis) {
      const Shape row(shape.dims().subspan(axis < 0 ? shape.rank() - 1 : axis));
      for (int operands = 0; operands < 3; ++operands) {
        for (const DType dtype : cases.scope().floats) {
          KernelCase test{"layer_norm",
                          Make<LayerNorm>({axis, operands == 1 ? 1e-2 : 1e-5}),
                          {cases.Tensor(dtype, shape, 90, 98)}};  // E[x^2] - E[x]^2 would fail
          for (int i = 0; i < operands; ++i) test.inputs.push_back(cases.Tensor(dtype, row));
          test.tolerance = 5e-5;  // for differences of numbers near 94
          test.large = shape.num_elements() > 2000;
          cases.Add(test);
          test.in_place = 0;
          cases.Add(test);
        }
      }
    }
  }
  cases.Reject({
      {Make<LayerNorm>({0}), {}, "0 inputs"},
      {Make<LayerNorm>({0}), {Shape()}, "axis"},
      {Make<LayerNorm>({2}), {{3, 4}}, "axis"},
      {Make<LayerNorm>({-1}), {{3, 4}, {3}}, "scale"},
      {Make<LayerNorm>({-1}), {{3, 4}, {4}, {1, 4}}, "bias"},
  });
}

}  // namespace ashlar::testing

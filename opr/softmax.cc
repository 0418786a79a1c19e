#include "opr/softmax.h"

#include <algorithm>
#include <cmath>

#include "opr/base/axis.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Softmax)

absl::StatusOr<std::vector<TensorType>> Softmax::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_RETURN_IF_ERROR(CheckFloat("input", inputs[0].type));
  ASHLAR_RETURN_IF_ERROR(NormalizeAxis(param().axis, inputs[0].type.shape.rank()).status());
  return std::vector<TensorType>{{SoftmaxDType(inputs[0].type.dtype), inputs[0].type.shape}};
}

absl::StatusOr<std::vector<HostTensor>> Softmax::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[0].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  const int64_t length = shape[axis];
  const int64_t step = ContiguousStrides(shape)[axis];
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> y(x.size());
  for (int64_t row = 0; row < shape.num_elements() / length; ++row) {
    const int64_t begin = row / step * step * length + row % step;
    double largest = x[begin];
    for (int64_t i = 1; i < length; ++i) largest = std::max(largest, x[begin + i * step]);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(x[begin + i * step] - largest);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = begin + i * step;
      y[at] = std::exp(x[at] - largest) / sum;
    }
  }
  return std::vector<HostTensor>{FromDoubles(SoftmaxDType(inputs[0].dtype()), shape, y)};
}

std::optional<Axes> Softmax::AxesOf(const Site& site) const {
  return AxisIn(param().axis, site.outputs[0].shape);
}

}  // namespace ashlar

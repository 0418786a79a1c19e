#include "opr/softmax.h"

#include <algorithm>
#include <cmath>

#include "opr/axis.h"
#include "opr/checks.h"
#include "opr/type_cvt.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Softmax)

absl::StatusOr<std::vector<TensorType>> Softmax::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_RETURN_IF_ERROR(CheckFloat("input", inputs[0].type));
  ASHLAR_RETURN_IF_ERROR(NormalizeAxis(param().axis, inputs[0].type.shape.rank()).status());
  return std::vector<TensorType>{{DType::kFloat32, inputs[0].type.shape}};
}

absl::StatusOr<std::vector<HostTensor>> Softmax::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  if (inputs[0].dtype() != DType::kFloat32) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> wide,
                            TypeCvt({DType::kFloat32}).Evaluate(inputs));
    return Evaluate(wide);
  }
  const Shape& shape = inputs[0].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  const int64_t length = shape[axis];
  const int64_t step = ContiguousStrides(shape)[axis];
  HostTensor output = HostTensor::Zeros(DType::kFloat32, shape);
  const float* x = inputs[0].data<float>().data();
  float* y = output.mutable_data<float>().data();
  for (int64_t row = 0; row < shape.num_elements() / length; ++row) {
    const int64_t begin = row / step * step * length + row % step;
    double largest = x[begin];
    for (int64_t i = 1; i < length; ++i) largest = std::max<double>(largest, x[begin + i * step]);
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) sum += std::exp(x[begin + i * step] - largest);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = begin + i * step;
      y[at] = static_cast<float>(std::exp(x[at] - largest) / sum);
    }
  }
  return std::vector<HostTensor>{std::move(output)};
}

std::optional<Axes> Softmax::AxesOf(const Site& site) const {
  return AxisIn(param().axis, site.outputs[0].shape);
}

}  // namespace ashlar

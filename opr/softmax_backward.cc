#include "opr/softmax_backward.h"

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/reduce.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(SoftmaxBackward)

absl::StatusOr<std::vector<TensorType>> SoftmaxBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& y = inputs[kY].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat("y", y));
  ASHLAR_RETURN_IF_ERROR(NormalizeAxis(param().axis, y.shape.rank()).status());
  ASHLAR_RETURN_IF_ERROR(CheckType("diff", inputs[kDiff].type, y));
  return std::vector<TensorType>{{y.dtype, y.shape}};
}

absl::StatusOr<std::vector<HostTensor>> SoftmaxBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kY].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  const AxisView view = AroundAxis(shape, axis);
  const std::vector<double> y = ToDoubles(inputs[kY]), diff = ToDoubles(inputs[kDiff]);
  std::vector<double> dx(y.size());
  for (int64_t row = 0; row < view.outer * view.inner; ++row) {
    const auto at = [&](int64_t i) {
      return static_cast<size_t>((row / view.inner * view.length + i) * view.inner +
                                 row % view.inner);
    };
    double sum = 0;
    for (int64_t i = 0; i < view.length; ++i) sum += y[at(i)] * diff[at(i)];
    for (int64_t i = 0; i < view.length; ++i) dx[at(i)] = y[at(i)] * (diff[at(i)] - sum);
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kY].dtype(), shape, dx)};
}

int64_t SoftmaxBackward::Computation(const Site& site) const {
  return 4 * site.outputs[0].shape.num_elements();
}

// A row is read before it is written.
Aliasing SoftmaxBackward::aliasing(const Site& site) const { return OverwritesInputs(site); }

}  // namespace ashlar

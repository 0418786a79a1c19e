#include "opr/log_softmax.h"

#include <algorithm>
#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/doubles.h"
#include "opr/reduce.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LogSoftmax)

absl::StatusOr<std::vector<TensorType>> LogSoftmax::Infer(
    absl::Span<const InputInfo> inputs) const {
  return Softmax(param()).Infer(inputs);
}

absl::StatusOr<std::vector<HostTensor>> LogSoftmax::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[0].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  const AxisView view = AroundAxis(shape, axis);
  const std::vector<double> x = ToDoubles(inputs[0]);
  std::vector<double> y(x.size());
  for (int64_t row = 0; row < view.outer * view.inner; ++row) {
    const auto at = [&](int64_t i) {
      return static_cast<size_t>((row / view.inner * view.length + i) * view.inner +
                                 row % view.inner);
    };
    double largest = x[at(0)], sum = 0;
    for (int64_t i = 1; i < view.length; ++i) largest = std::max(largest, x[at(i)]);
    for (int64_t i = 0; i < view.length; ++i) sum += std::exp(x[at(i)] - largest);
    for (int64_t i = 0; i < view.length; ++i) y[at(i)] = x[at(i)] - largest - std::log(sum);
  }
  return std::vector<HostTensor>{FromDoubles(SoftmaxDType(inputs[0].dtype()), shape, y)};
}

int64_t LogSoftmax::Computation(const Site& site) const {
  return 4 * site.outputs[0].shape.num_elements();
}

}  // namespace ashlar

#include "opr/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/reduce.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LayerNorm)

absl::StatusOr<std::vector<TensorType>> LayerNorm::Infer(absl::Span<const InputInfo> inputs) const {
  if (inputs.empty() || inputs.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected 1 to 3"));
  }
  const TensorType& x = inputs[kX].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat("input", x));
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  const Shape row(x.shape.dims().subspan(axis));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i].type;
    if (type.dtype == x.dtype && type.shape == row) continue;
    return absl::InvalidArgumentError(absl::StrCat(i == kScale ? "scale" : "bias", " is ",
                                                   type.ToString(), ", expected ",
                                                   TensorType{x.dtype, row}.ToString()));
  }
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

// In two passes, because E[x^2] - E[x]^2 would cancel.
absl::StatusOr<std::vector<HostTensor>> LayerNorm::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kX].shape();
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, shape.rank()));
  int64_t length = 1;
  for (int i = axis; i < shape.rank(); ++i) length *= shape[i];
  const std::vector<double> values = ToDoubles(inputs[kX]);
  std::vector<double> output(values.size());
  const double* x = values.data();
  double* y = output.data();
  for (int64_t row = 0; row < shape.num_elements() / length; ++row, x += length, y += length) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; ++i) mean += x[i];
    mean /= static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) variance += (x[i] - mean) * (x[i] - mean);
    variance /= static_cast<double>(length);
    const double factor = 1 / std::sqrt(variance + param().epsilon);
    for (int64_t i = 0; i < length; ++i) {
      double value = (x[i] - mean) * factor;
      if (inputs.size() > kScale) value *= inputs[kScale].At(i);
      if (inputs.size() > kBias) value += inputs[kBias].At(i);
      y[i] = value;
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kX].dtype(), shape, output)};
}

std::optional<Axes> LayerNorm::AxesOf(const Site& site) const {
  const std::optional<Axes> first = AxisIn(param().axis, site.outputs[0].shape);
  if (!first) return std::nullopt;
  return Axes{first->begin, site.outputs[0].shape.rank()};
}

}  // namespace ashlar

#include "opr/lrn_backward.h"

#include <algorithm>
#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/matrix_mul.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LRNBackward)

absl::StatusOr<std::vector<TensorType>> LRNBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_RETURN_IF_ERROR(CheckType("diff", inputs[kDiff].type, inputs[kX].type));
  return LRN(param()).Infer(inputs.first(1));
}

absl::StatusOr<std::vector<HostTensor>> LRNBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kX].shape();
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  const int64_t before = std::min((param().size - 1) / 2, channels);
  const int64_t after = std::min(param().size / 2, channels);
  const double factor = param().alpha / static_cast<double>(param().size);
  const std::vector<double> x = ToDoubles(inputs[kX]), diff = ToDoubles(inputs[kDiff]);
  std::vector<double> dx(x.size());
  std::vector<double> norm(static_cast<size_t>(channels)), terms(norm.size());
  for (int64_t i = 0; i < shape[0] * plane; ++i) {
    const auto at = [&](int64_t c) {
      return static_cast<size_t>((i / plane * channels + c) * plane + i % plane);
    };
    for (int64_t c = 0; c < channels; ++c) {
      double squares = 0;
      for (int64_t k = std::max<int64_t>(c - before, 0); k <= std::min(c + after, channels - 1);
           ++k) {
        squares += x[at(k)] * x[at(k)];
      }
      const double s = param().bias + factor * squares;
      norm[static_cast<size_t>(c)] = std::pow(s, -param().beta);
      terms[static_cast<size_t>(c)] = diff[at(c)] * x[at(c)] * norm[static_cast<size_t>(c)] / s;
    }
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t k = std::max<int64_t>(c - after, 0); k <= std::min(c + before, channels - 1);
           ++k) {
        sum += terms[static_cast<size_t>(k)];
      }
      dx[at(c)] =
          diff[at(c)] * norm[static_cast<size_t>(c)] - 2 * factor * param().beta * x[at(c)] * sum;
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kX].dtype(), shape, dx)};
}

int64_t LRNBackward::Computation(const Site& site) const {
  return 4 * site.outputs[0].shape.num_elements();
}

}  // namespace ashlar

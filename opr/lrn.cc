#include "opr/lrn.h"

#include <algorithm>
#include <cmath>

#include "opr/base/checks.h"
#include "opr/base/doubles.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LRN)

absl::StatusOr<std::vector<TensorType>> LRN::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_RETURN_IF_ERROR(CheckImage("input", inputs[0].type));
  if (param().size < 1 || param().size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", param().size, ", expected 1 to ",
                                                   std::numeric_limits<int32_t>::max()));
  }
  return std::vector<TensorType>{{inputs[0].type.dtype, inputs[0].type.shape}};
}

absl::StatusOr<std::vector<HostTensor>> LRN::Evaluate(absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[0].shape();
  const int64_t channels = shape[1];
  const int64_t plane = shape[2] * shape[3];
  const int64_t before = (param().size - 1) / 2;
  const int64_t after = param().size / 2;
  const double factor = param().alpha / static_cast<double>(param().size);
  const std::vector<double> values = ToDoubles(inputs[0]);
  std::vector<double> output(values.size());
  std::vector<double> squares(plane);
  for (int64_t n = 0; n < shape[0]; ++n) {
    const double* image = values.data() + n * channels * plane;
    double* out = output.data() + n * channels * plane;
    for (int64_t c = 0; c < channels; ++c) {
      std::fill(squares.begin(), squares.end(), 0.0);
      const int64_t last = std::min(c + after, channels - 1);
      for (int64_t i = std::max<int64_t>(c - before, 0); i <= last; ++i) {
        const double* x = image + i * plane;
        for (int64_t p = 0; p < plane; ++p) squares[p] += x[p] * x[p];
      }
      const double* x = image + c * plane;
      for (int64_t p = 0; p < plane; ++p) {
        const double norm = std::pow(param().bias + factor * squares[p], param().beta);
        out[c * plane + p] = x[p] / norm;
      }
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[0].dtype(), shape, output)};
}

}  // namespace ashlar

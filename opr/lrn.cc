#include "opr/lrn.h"

#include <algorithm>
#include <cmath>

#include "opr/checks.h"

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
  if (inputs[0].dtype() != DType::kFloat32) return EvaluateRounded(*this, inputs);
  const Shape& shape = inputs[0].shape();
  const int64_t channels = shape[1];
  const int64_t plane = shape[2] * shape[3];
  const int64_t before = (param().size - 1) / 2;
  const int64_t after = param().size / 2;
  const double factor = param().alpha / static_cast<double>(param().size);
  HostTensor output = HostTensor::Zeros(DType::kFloat32, shape);
  std::vector<double> squares(plane);
  for (int64_t n = 0; n < shape[0]; ++n) {
    const float* image = inputs[0].data<float>().data() + n * channels * plane;
    float* out = output.mutable_data<float>().data() + n * channels * plane;
    for (int64_t c = 0; c < channels; ++c) {
      std::fill(squares.begin(), squares.end(), 0.0);
      const int64_t last = std::min(c + after, channels - 1);
      for (int64_t i = std::max<int64_t>(c - before, 0); i <= last; ++i) {
        const float* x = image + i * plane;
        for (int64_t p = 0; p < plane; ++p) squares[p] += static_cast<double>(x[p]) * x[p];
      }
      const float* x = image + c * plane;
      for (int64_t p = 0; p < plane; ++p) {
        const double norm = std::pow(param().bias + factor * squares[p], param().beta);
        out[c * plane + p] = static_cast<float>(x[p] / norm);
      }
    }
  }
  return std::vector<HostTensor>{std::move(output)};
}

}  // namespace ashlar

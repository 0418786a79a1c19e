#include "opr/cum_sum.h"

#include "opr/base/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(CumSum)

absl::StatusOr<std::vector<TensorType>> CumSum::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(AxisOfOnlyInput(inputs, param().axis).status());
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || x.dtype == DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", expected numbers"));
  }
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> CumSum::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape().rank()));
  const AxisView view = AroundAxis(x.shape(), axis);
  HostTensor y = HostTensor::Zeros(x.dtype(), x.shape());
  WithNumber(x.dtype(), [&]<typename Number>(Number) {
    for (int64_t row = 0; row < view.outer * view.inner; ++row) {
      Number sum = 0;
      for (int64_t i = 0; i < view.length; ++i) {
        const int64_t place = param().reverse ? view.length - 1 - i : i;
        const int64_t at = (row / view.inner * view.length + place) * view.inner + row % view.inner;
        if (param().exclusive) SetNumber(y, at, sum);
        sum += NumberAt<Number>(x, at);
        if (!param().exclusive) SetNumber(y, at, sum);
      }
    }
  });
  return std::vector<HostTensor>{std::move(y)};
}

int64_t CumSum::Computation(const Site& site) const { return site.outputs[0].shape.num_elements(); }

}  // namespace ashlar

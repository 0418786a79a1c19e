#include "opr/dropout.h"

#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Dropout)

absl::StatusOr<std::vector<TensorType>> Dropout::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType &x = inputs[kX].type, &step = inputs[kStep].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat("x", x));
  const bool integer = step.dtype == DType::kInt32 || step.dtype == DType::kInt64;
  if (!integer || step.shape.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("step is ", step.ToString(), ", expected one Int32 or Int64"));
  }
  if (!(param().probability >= 0 && param().probability < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("probability is ", param().probability,
                                                   ", expected at least 0 and less than 1"));
  }
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> Dropout::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &x = inputs[kX], &step = inputs[kStep];
  const int64_t number =
      step.dtype() == DType::kInt64 ? step.data<int64_t>()[0] : step.data<int32_t>()[0];
  const uint64_t key = DropoutKey(param().seed, number);
  const uint64_t threshold = DropoutThreshold(param().probability);
  const double scale = 1 / (1 - param().probability);
  std::vector<double> y = ToDoubles(x);
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = DropoutKeeps(key, static_cast<int64_t>(i), threshold) ? y[i] * scale : 0;
  }
  return std::vector<HostTensor>{FromDoubles(x.dtype(), x.shape(), y)};
}

int64_t Dropout::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

Aliasing Dropout::aliasing(const Site& site) const { return OverwritesInput(kX, site); }

}  // namespace ashlar

#include "opr/bit_cast.h"

#include <cstring>
#include <utility>

#include "opr/base/host_value.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(BitCast)

absl::StatusOr<std::vector<TensorType>> BitCast::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  const DType dtype = param().dtype;
  const bool same_size = SizeOf(x.dtype) == SizeOf(dtype);
  const bool to_bool = dtype == DType::kBool && x.dtype != DType::kBool;
  if (IsQuantized(x.dtype) || IsQuantized(dtype) || !same_size || to_bool) {
    return absl::InvalidArgumentError(absl::StrCat("from the bits of ", x.ToString(), " to ",
                                                   Name(dtype), ", expected dtypes of one size"));
  }
  return std::vector<TensorType>{{dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> BitCast::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_RETURN_IF_ERROR(Infer(InfosOf(inputs)).status());
  HostTensor y = HostTensor::Zeros(param().dtype, x.shape());
  if (x.bytes() > 0) std::memcpy(y.mutable_raw(), x.raw(), static_cast<size_t>(x.bytes()));
  return std::vector<HostTensor>{std::move(y)};
}

}  // namespace ashlar

#include "opr/base/output_type.h"

#include <utility>

#include "graph/status.h"

namespace ashlar {

absl::StatusOr<TensorType> QuantizedType(const OutputType& output, const Shape& shape) {
  if (!IsQuantizedTo8Bits(output.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("output_dtype is ", Name(output.dtype),
                                                   ", expected a quantised one of 8 bits"));
  }
  const auto zero_point = static_cast<int32_t>(output.zero_point);
  if (zero_point != output.zero_point) {
    return absl::InvalidArgumentError(absl::StrCat("zero_point is ", output.zero_point));
  }
  ASHLAR_ASSIGN_OR_RETURN(
      Quantization quantization,
      Quantization::Make(output.dtype, {static_cast<float>(output.scale)}, zero_point));
  return TensorType{output.dtype, shape, Format::kDefault, std::move(quantization)};
}

OutputType OutputTypeOf(const TensorType& type) {
  return {type.dtype, type.quantization.scale(), type.quantization.zero_point()};
}

}  // namespace ashlar

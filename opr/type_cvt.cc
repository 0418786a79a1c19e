#include "opr/type_cvt.h"

#include <algorithm>
#include <utility>

#include "opr/base/aliasing.h"
#include "opr/base/host_value.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(TypeCvt)

absl::StatusOr<std::vector<TensorType>> TypeCvt::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || param().dtype == DType::kByte) {
    return absl::InvalidArgumentError(absl::StrCat(
        "from ", Name(x.dtype), " to ", Name(param().dtype), ": Byte is opaque and has no values"));
  }
  const DType dtype = param().dtype;
  if (!IsQuantized(dtype) && (param().scale != 0 || param().zero_point != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(Name(dtype), " has no scale or zero point"));
  }
  const bool stored = StoredAs(x.dtype) == StoredAs(dtype);
  TensorType y = {dtype, x.shape};
  if (IsQuantized(dtype)) {
    ASHLAR_ASSIGN_OR_RETURN(y, QuantizedType({dtype, param().scale, param().zero_point}, x.shape));
    if (x == y.Reshaped(x.shape)) return std::vector<TensorType>{y};
  }
  const bool quantizes = IsQuantized(dtype) && IsFloat(x.dtype);
  const bool dequantizes = IsQuantized(x.dtype) && dtype == DType::kFloat32;
  const bool relabels = stored && IsQuantized(x.dtype) != IsQuantized(dtype);
  const bool plain = !IsQuantized(x.dtype) && !IsQuantized(dtype);
  if (!quantizes && !dequantizes && !relabels && !plain) {
    return absl::InvalidArgumentError(
        absl::StrCat("from ", x.ToString(), " to ", y.ToString(),
                     ": quantised values come from floats, go to Float32, or stay as stored"));
  }
  return std::vector<TensorType>{y};
}

absl::StatusOr<std::vector<HostTensor>> TypeCvt::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Infer(InfosOf(inputs)));
  const TensorType& type = types[0];
  if (StoredAs(x.dtype()) == StoredAs(type.dtype)) {
    return std::vector<HostTensor>{x.As(type.dtype, type.quantization)};
  }
  HostTensor output = HostTensor::Zeros(type);
  if (IsQuantized(type.dtype)) {
    const float scale = type.quantization.scale();
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      output.Set(i, Quantize(static_cast<float>(x.At(i)) / scale, type.quantization.zero_point(),
                             LeastOf(type.dtype), MostOf(type.dtype)));
    }
    return std::vector<HostTensor>{std::move(output)};
  }
  if (IsQuantized(x.dtype())) {
    const absl::Span<const float> scales = x.quantization().scales();
    const int64_t count = static_cast<int64_t>(scales.size());
    const int64_t run = std::max<int64_t>(x.num_elements() / count, 1);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const float steps = static_cast<float>(x.At(i) - x.quantization().zero_point());
      output.Set(i, steps * scales[static_cast<size_t>(i / run)]);
    }
    return std::vector<HostTensor>{std::move(output)};
  }
  const bool from_integers = !IsFloat(x.dtype()), to_integers = !IsFloat(type.dtype);
  const bool to_doubles = type.dtype == DType::kFloat64;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    if (!from_integers) {
      output.Set(i, x.At(i));
    } else if (to_integers) {
      output.SetInteger(i, x.IntegerAt(i));
    } else if (x.dtype() == DType::kUint64) {
      const uint64_t value = x.data<uint64_t>()[i];
      output.Set(i, to_doubles ? static_cast<double>(value) : static_cast<float>(value));
    } else {
      const int64_t value = x.IntegerAt(i);
      output.Set(i, to_doubles ? static_cast<double>(value) : static_cast<float>(value));
    }
  }
  return std::vector<HostTensor>{std::move(output)};
}

Aliasing TypeCvt::aliasing(const Site& site) const {
  const TensorType &x = site.inputs[0].type, &y = site.outputs[0];
  const bool same = StoredAs(x.dtype) == StoredAs(y.dtype) && x.format == y.format;
  return same ? ViewOfInput() : Aliasing();
}

}  // namespace ashlar

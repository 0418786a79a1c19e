#include "opr/type_cvt.h"

#include <utility>

#include "opr/aliasing.h"
#include "opr/gradient.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(TypeCvt)

absl::StatusOr<std::vector<TensorType>> TypeCvt::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  if (x.dtype == DType::kByte || param().dtype == DType::kByte) {
    return absl::InvalidArgumentError(absl::StrCat(
        "from ", Name(x.dtype), " to ", Name(param().dtype), ": Byte is opaque and has no values"));
  }
  return std::vector<TensorType>{{param().dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> TypeCvt::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  if (x.dtype() == param().dtype) return std::vector<HostTensor>{x};
  HostTensor output = HostTensor::Zeros(param().dtype, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) output.Set(i, x.At(i));
  return std::vector<HostTensor>{std::move(output)};
}

Aliasing TypeCvt::aliasing(const Site& site) const {
  return site.inputs[0].type == site.outputs[0] ? ViewOfInput() : Aliasing();
}

absl::Status TypeCvt::Gradient(GradientContext& context) const {
  Gradients g(context);
  g.Set(0, g.Converted(g.of(), g.input_type(0).dtype));
  return std::move(g).Finish();
}

}  // namespace ashlar

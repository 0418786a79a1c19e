#include "opr/elemwise_multi_type.h"

#include "opr/base/aliasing.h"
#include "opr/base/host_value.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ElemwiseMultiType)

namespace {

float Dequantized(double integer, const Quantization& quantization) {
  return static_cast<float>(integer - quantization.zero_point()) * quantization.scale();
}

int32_t Rounded(const ElemwiseParam& param, float a, float b, const TensorType& output) {
  const float value = static_cast<float>(Apply(param, a, b));
  return Quantize(value / output.quantization.scale(), output.quantization.zero_point(),
                  LeastOf(output.dtype), MostOf(output.dtype));
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> ElemwiseMultiType::Infer(
    absl::Span<const InputInfo> inputs) const {
  const ScalarRow& row = RowOf(param().mode);
  if (row.arity > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("mode ", row.name, " is of ", row.arity, " tensors, expected 1 or 2"));
  }
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, static_cast<size_t>(row.arity)));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i].type;
    const bool bytes = IsQuantized(type.dtype) && SizeOf(type.dtype) == 1;
    if (bytes && type.quantization.scales().size() == 1 && type.shape == inputs[0].type.shape) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " is ", type.ToString(),
                     ", expected a quantised one of 8 bits and one scale, of shape ",
                     inputs[0].type.shape.ToString()));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, QuantizedType(param().output, inputs[0].type.shape));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> ElemwiseMultiType::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, Infer(InfosOf(inputs)));
  const TensorType& type = types[0];
  HostTensor output = HostTensor::Zeros(type);
  const HostTensor &a = inputs[0], &b = inputs[inputs.size() - 1];
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    output.Set(i, Rounded(param(), Dequantized(a.At(i), a.quantization()),
                          Dequantized(b.At(i), b.quantization()), type));
  }
  return std::vector<HostTensor>{std::move(output)};
}

std::array<uint8_t, 256> ElemwiseMultiType::Table(const TensorType& input,
                                                  const TensorType& output) const {
  std::array<uint8_t, 256> table;
  for (int32_t integer = LeastOf(input.dtype); integer <= MostOf(input.dtype); ++integer) {
    table[static_cast<uint8_t>(integer)] =
        static_cast<uint8_t>(Rounded(param(), Dequantized(integer, input.quantization), 0, output));
  }
  return table;
}

StorageRules ElemwiseMultiType::storage_rules(const Site& site) const {
  return {.format = PointwiseOperator::storage_rules(site).format};
}

// Types may differ: all integers have one size, so the output may overwrite either operand.
Aliasing ElemwiseMultiType::aliasing(const Site& site) const {
  Aliasing aliasing;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    for (const auto& overwrite : OverwritesBytes(static_cast<int>(i), site).overwrites) {
      aliasing.overwrites.push_back(overwrite);
    }
  }
  return aliasing;
}

int64_t ElemwiseMultiType::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

}  // namespace ashlar

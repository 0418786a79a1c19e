#include "opr/matrix_mul_bias.h"

#include <algorithm>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/operands.h"
#include "opr/elemwise.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(MatrixMulBias)

namespace {

// Returns a constant with one value for each of `columns` along the last dimension as a vector.
std::optional<HostTensor> PerColumn(const InputInfo& info, int64_t columns) {
  const HostTensor* const value = info.value;
  const Shape& shape = info.type.shape;
  if (value == nullptr || !value->has_data() || value->dtype() != DType::kFloat32 ||
      shape.rank() == 0 || shape.num_elements() != columns || shape[shape.rank() - 1] != columns) {
    return std::nullopt;
  }
  const absl::Span<const float> values = value->data<float>();
  return HostTensor::FromValues<float>(DType::kFloat32, {columns}, values);
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> MatrixMulBias::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  ASHLAR_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                          MatrixMul(param()).Infer(inputs.first(2)));
  const TensorType& bias = inputs[kBias].type;
  ASHLAR_RETURN_IF_ERROR(CheckDType("bias", bias, outputs[0].dtype));
  const Shape& output = outputs[0].shape;
  if (bias.shape != Shape{output[output.rank() - 1]}) {
    return absl::InvalidArgumentError(
        absl::StrCat("bias is ", bias.ToString(), ", expected {", output[output.rank() - 1], "}"));
  }
  return outputs;
}

absl::StatusOr<std::vector<HostTensor>> MatrixMulBias::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  if (SizeOf(inputs[0].dtype()) == 2) return EvaluateRounded(*this, inputs);
  ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                          MatrixMul(param()).Evaluate(inputs.first(2)));
  HostTensor& y = outputs[0];
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const double sum = y.At(i) + inputs[kBias].At(i % inputs[kBias].num_elements());
    y.Set(i, param().relu ? formulas::Relu(sum) : sum);
  }
  return outputs;
}

std::optional<Replacement> ChainBias(const MatrixMulParam& param,
                                     absl::Span<const InputInfo> inputs, const Consumer& consumer) {
  const auto* elemwise = dynamic_cast<const Elemwise*>(&consumer.op);
  if (elemwise == nullptr) return std::nullopt;
  const ScalarRow& row = RowOf(elemwise->param().mode);
  const bool relu = row.of_sum == ScalarFunction::kRelu;
  if (!row.adds || (!relu && row.of_sum != ScalarFunction::kIdentity)) return std::nullopt;
  // The sum has the product's shape if the bias has at most as many dimensions.
  const InputInfo& addend = consumer.inputs[1 - consumer.via];
  const Shape& product = consumer.inputs[consumer.via].type.shape;
  if (addend.type.shape.rank() > product.rank()) return std::nullopt;
  std::optional<HostTensor> bias = PerColumn(addend, product[product.rank() - 1]);
  if (!bias) return std::nullopt;
  MatrixMulBiasParam fused;
  static_cast<MatrixMulParam&>(fused) = param;
  fused.relu = relu;
  Replacement result{std::make_shared<const MatrixMulBias>(fused), OwnOperands(inputs.size())};
  result.operands.push_back(ConstantOperand(*std::move(bias)));
  return result;
}

}  // namespace ashlar

#include "opr/update.h"

#include <cmath>

#include "opr/base/checks.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(SgdUpdate)
ASHLAR_MAKE_FROM_PARAMS(AdamUpdate)
ASHLAR_MAKE_FROM_PARAMS(AddUpdate)

Aliasing UpdateOperator::aliasing(const Site& /*site*/) const {
  Aliasing aliasing;
  const std::vector<int> states = StateInputs();
  for (size_t i = 0; i < states.size(); ++i) {
    aliasing.updates.push_back({static_cast<int>(i), states[i]});
    aliasing.overwrites.push_back({static_cast<int>(i), states[i]});
  }
  return aliasing;
}

int64_t UpdateOperator::Computation(const Site& site) const {
  return OperationsOfElement() * site.outputs[0].shape.num_elements();
}

absl::StatusOr<std::vector<TensorType>> UpdateOperator::InferUpdate(
    absl::Span<const InputInfo> inputs, absl::Span<const char* const> names, int first_scalar,
    int last_scalar) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, names.size()));
  const TensorType& first = inputs[0].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat32(names[0], first));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty(names[0], first));
  for (int i = 1; i < static_cast<int>(inputs.size()); ++i) {
    const TensorType& type = inputs[i].type;
    const bool scalar = i >= first_scalar && i <= last_scalar;
    const bool fits = scalar ? type.shape.num_elements() == 1
                             : type.shape == first.shape && type.dtype == first.dtype;
    if (fits) continue;
    return absl::InvalidArgumentError(absl::StrCat(names[i], " is ", type.ToString(), ", expected ",
                                                   scalar ? "one element" : first.ToString()));
  }
  return std::vector<TensorType>(StateInputs().size(), {first.dtype, first.shape});
}

std::vector<int> SgdUpdate::StateInputs() const {
  return has_velocity() ? std::vector<int>{kWeight, kVelocity} : std::vector<int>{kWeight};
}

absl::StatusOr<std::vector<TensorType>> SgdUpdate::Infer(absl::Span<const InputInfo> inputs) const {
  static constexpr const char* kNames[] = {"weight", "gradient", "rate", "velocity"};
  ASHLAR_ASSIGN_OR_RETURN(
      std::vector<TensorType> types,
      InferUpdate(inputs, absl::MakeSpan(kNames, has_velocity() ? 4 : 3), kRate, kRate));
  ASHLAR_RETURN_IF_ERROR(CheckFloat32("rate", inputs[kRate].type));
  if (param().nesterov && !has_velocity()) {
    return absl::InvalidArgumentError("nesterov is true, which needs a momentum");
  }
  return types;
}

absl::StatusOr<std::vector<HostTensor>> SgdUpdate::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const auto& [momentum, decay, nesterov] = param();
  const HostTensor& weight = inputs[kWeight];
  const double rate = inputs[kRate].At(0);
  std::vector<HostTensor> outputs(StateInputs().size(),
                                  HostTensor::Zeros(weight.dtype(), weight.shape()));
  if (has_velocity()) outputs[1] = HostTensor::Zeros(weight.dtype(), weight.shape());
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    const double d = inputs[kGradient].At(i) + decay * weight.At(i);
    double velocity = d;
    if (has_velocity()) {
      velocity += momentum * inputs[kVelocity].At(i);
      outputs[1].Set(i, velocity);
    }
    outputs[0].Set(i, weight.At(i) - rate * (nesterov ? d + momentum * velocity : velocity));
  }
  return outputs;
}

AdamFactors FactorsOf(const AdamUpdateParam& param, double rate, int64_t step) {
  const double steps = static_cast<double>(step);
  AdamFactors factors;
  if (param.decoupled) factors.decay = 1 - rate * param.weight_decay;
  factors.step_size = rate / (1 - std::pow(param.beta1, steps));
  factors.root_scale = 1 / std::sqrt(1 - std::pow(param.beta2, steps));
  return factors;
}

absl::StatusOr<std::vector<TensorType>> AdamUpdate::Infer(
    absl::Span<const InputInfo> inputs) const {
  static constexpr const char* kNames[] = {"weight", "gradient", "rate", "step", "mean", "square"};
  ASHLAR_ASSIGN_OR_RETURN(std::vector<TensorType> types, InferUpdate(inputs, kNames, kRate, kStep));
  ASHLAR_RETURN_IF_ERROR(CheckFloat32("rate", inputs[kRate].type));
  ASHLAR_RETURN_IF_ERROR(CheckDType("step", inputs[kStep].type, DType::kInt64));
  for (const double beta : {param().beta1, param().beta2}) {
    if (beta >= 0 && beta < 1) continue;
    return absl::InvalidArgumentError(absl::StrCat("a beta is ", beta, ", expected 0 to below 1"));
  }
  return types;
}

absl::StatusOr<std::vector<HostTensor>> AdamUpdate::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const AdamUpdateParam& p = param();
  const HostTensor& weight = inputs[kWeight];
  const AdamFactors factors = FactorsOf(p, inputs[kRate].At(0), inputs[kStep].data<int64_t>()[0]);
  std::vector<HostTensor> outputs;
  for (int i = 0; i < 3; ++i) outputs.push_back(HostTensor::Zeros(weight.dtype(), weight.shape()));
  for (int64_t i = 0; i < weight.num_elements(); ++i) {
    const double w = weight.At(i) * factors.decay;
    const double d = inputs[kGradient].At(i) + (p.decoupled ? 0 : p.weight_decay * weight.At(i));
    const double mean = p.beta1 * inputs[kMean].At(i) + (1 - p.beta1) * d;
    const double square = p.beta2 * inputs[kSquare].At(i) + (1 - p.beta2) * d * d;
    outputs[0].Set(
        i, w - factors.step_size * mean / (std::sqrt(square) * factors.root_scale + p.epsilon));
    outputs[1].Set(i, mean);
    outputs[2].Set(i, square);
  }
  return outputs;
}

absl::StatusOr<std::vector<TensorType>> AddUpdate::Infer(absl::Span<const InputInfo> inputs) const {
  static constexpr const char* kNames[] = {"dest", "delta"};
  return InferUpdate(inputs, kNames, 2, 1);
}

absl::StatusOr<std::vector<HostTensor>> AddUpdate::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& dest = inputs[kDest];
  HostTensor output = HostTensor::Zeros(dest.dtype(), dest.shape());
  for (int64_t i = 0; i < dest.num_elements(); ++i) {
    output.Set(i, param().alpha * dest.At(i) + param().beta * inputs[kDelta].At(i) + param().bias);
  }
  return std::vector<HostTensor>{std::move(output)};
}

}  // namespace ashlar

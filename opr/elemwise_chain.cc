#include "opr/elemwise_chain.h"

#include <algorithm>
#include <array>
#include <utility>

#include "opr/base/operands.h"
#include "opr/base/strided.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(ElemwiseChain)

namespace {

constexpr int64_t kChained = ElemwiseChainParam::kChained;

ScalarFunction ModeOf(const ElemwiseChainParam& param, size_t step) {
  return static_cast<ScalarFunction>(param.mode[step]);
}

// Steps, and the operands that their arguments index.
struct Steps {
  ElemwiseChainParam param;
  std::vector<Operand> operands;
};

void AddStep(ElemwiseChainParam& param, ScalarFunction mode, int64_t a, int64_t b, int64_t c) {
  param.mode.push_back(static_cast<int64_t>(mode));
  param.a.push_back(a);
  param.b.push_back(b);
  param.c.push_back(c);
}

Operand Scalar(double value) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, Shape{1});
  tensor.Set(0, value);
  return {Operand::From::kConstant, 0, std::move(tensor)};
}

// Returns the step of an Elemwise with argument `chained` as kChained. The other arguments are its
// inputs from `from`, and its parameters.
Steps StepsOf(const ElemwiseParam& param, int chained, Operand::From from) {
  Steps steps;
  const ScalarRow& row = RowOf(param.mode);
  int64_t arguments[3] = {kChained, kChained, kChained};
  for (int i = 0; i < row.arity + row.num_parameters; ++i) {
    if (i == chained) continue;
    arguments[i] = static_cast<int64_t>(steps.operands.size());
    steps.operands.push_back(i < row.arity ? Operand{from, i, HostTensor()}
                                           : Scalar(param.parameters[i - row.arity]));
  }
  AddStep(steps.param, param.mode, arguments[0], arguments[1], arguments[2]);
  return steps;
}

// Returns the steps of a producer on its input 0, which is operand 0.
std::optional<Steps> AsProducer(const Operator& op, size_t inputs) {
  if (const auto* chain = dynamic_cast<const ElemwiseChain*>(&op)) {
    return Steps{chain->param(), OwnOperands(inputs)};
  }
  const auto* elemwise = dynamic_cast<const Elemwise*>(&op);
  if (elemwise == nullptr) return std::nullopt;
  Steps steps = StepsOf(elemwise->param(), 0, Operand::From::kProducer);
  steps.operands.insert(steps.operands.begin(), {Operand::From::kProducer, 0, HostTensor()});
  for (std::vector<int64_t>* arguments : {&steps.param.a, &steps.param.b, &steps.param.c}) {
    for (int64_t& argument : *arguments) argument += argument != kChained;
  }
  return steps;
}

// Returns the steps of a consumer on its input `via`; its other inputs are operands.
std::optional<Steps> AsConsumer(const Operator& op, int via, size_t inputs) {
  if (const auto* elemwise = dynamic_cast<const Elemwise*>(&op)) {
    return StepsOf(elemwise->param(), via, Operand::From::kConsumer);
  }
  const auto* chain = dynamic_cast<const ElemwiseChain*>(&op);
  if (chain == nullptr || via != 0) return std::nullopt;  // a chain begins with input 0
  Steps steps{chain->param(), {}};
  for (size_t i = 1; i < inputs; ++i) {
    steps.operands.push_back({Operand::From::kConsumer, static_cast<int>(i), HostTensor()});
  }
  for (std::vector<int64_t>* arguments : {&steps.param.a, &steps.param.b, &steps.param.c}) {
    for (int64_t& argument : *arguments) {
      if (argument == 0) return std::nullopt;  // reads the chain's first operand once more
      argument -= argument != kChained;
    }
  }
  return steps;
}

absl::Status CheckSteps(const ElemwiseChainParam& param, int64_t inputs) {
  const size_t steps = param.steps();
  if (param.a.size() != steps || param.b.size() != steps || param.c.size() != steps) {
    return absl::InvalidArgumentError("parameters mode, a, b and c differ in length");
  }
  if (steps == 0 || steps > ElemwiseChain::kMaxSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat(steps, " steps, expected 1 to ", ElemwiseChain::kMaxSteps));
  }
  for (size_t s = 0; s < steps; ++s) {
    if (param.mode[s] < 0 || param.mode[s] >= static_cast<int64_t>(kNumScalarFunctions)) {
      return absl::InvalidArgumentError(
          absl::StrCat("parameter mode holds ", param.mode[s], ", which a chain does not have"));
    }
    for (const int64_t argument : {param.a[s], param.b[s], param.c[s]}) {
      if (argument >= kChained && argument < inputs) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("step ", s, " has the argument ", argument, " of ", inputs, " inputs"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

StorageRules ElemwiseChain::storage_rules(const Site& site) const {
  return {.format = PointwiseOperator::storage_rules(site).format,
          .precision = PrecisionOf(ModeOf(param(), param().steps() - 1))};
}

absl::StatusOr<std::vector<TensorType>> ElemwiseChain::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.empty() || inputs.size() > kMaxInputs) {
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.size(), " inputs, expected 1 to ", kMaxInputs));
  }
  ASHLAR_RETURN_IF_ERROR(CheckSteps(param(), static_cast<int64_t>(inputs.size())));
  const DType dtype = inputs[0].type.dtype;
  if (!IsFloat(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("a chain is not defined for ", Name(dtype)));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, BroadcastInputs(inputs));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> ElemwiseChain::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  constexpr int64_t kPiece = 256;
  constexpr size_t kOutput = kMaxInputs;
  Shape shape = inputs[0].shape();
  for (const HostTensor& input : inputs) {
    ASHLAR_ASSIGN_OR_RETURN(shape, Broadcast(shape, input.shape()));
  }
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), shape);
  std::array<Strides, kMaxInputs + 1> strides;
  strides.fill(Strides(shape.rank(), 0));
  for (size_t i = 0; i < inputs.size(); ++i) {
    strides[i] = BroadcastStrides(inputs[i].shape(), shape);
  }
  strides[kOutput] = ContiguousStrides(shape);
  JoinDimensions(shape, strides);
  std::array<std::array<double, kPiece>, kMaxInputs> values = {};
  std::array<double, kPiece> chained;
  ForEachRow(shape, strides, kPiece, [&](const auto& offsets, int64_t n) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      LoadRow(inputs[i], offsets[i], strides[i].back(), absl::MakeSpan(values[i].data(), n));
    }
    chained = values[0];
    const auto argument = [&](int64_t index, int64_t at) {
      return index == kChained ? chained[at] : values[static_cast<size_t>(index)][at];
    };
    for (size_t s = 0; s < param().steps(); ++s) {
      for (int64_t i = 0; i < n; ++i) {
        chained[i] = Apply(ModeOf(param(), s), argument(param().a[s], i), argument(param().b[s], i),
                           argument(param().c[s], i));
      }
    }
    StoreRow(absl::MakeConstSpan(chained.data(), n), offsets[kOutput], output);
  });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t ElemwiseChain::Computation(const Site& site) const {
  int64_t operations = 0;
  for (size_t s = 0; s < param().steps(); ++s) {
    operations += std::max(Arity(ModeOf(param(), s)), 2) - 1;
  }
  return site.outputs[0].shape.num_elements() * operations;
}

std::optional<Replacement> ChainElemwise(const Operator& producer,
                                         absl::Span<const InputInfo> inputs,
                                         const Consumer& consumer) {
  std::optional<Steps> first = AsProducer(producer, inputs.size());
  std::optional<Steps> second = AsConsumer(consumer.op, consumer.via, consumer.inputs.size());
  if (!first || !second) return std::nullopt;
  // The consumer's output must not be larger: nothing may be computed more often than before.
  const absl::StatusOr<std::vector<TensorType>> output = consumer.op.Infer(consumer.inputs);
  if (!output.ok() ||
      (*output)[0] != TensorType{DType::kFloat32, consumer.inputs[consumer.via].type.shape} ||
      first->operands.size() + second->operands.size() > ElemwiseChain::kMaxInputs ||
      first->param.steps() + second->param.steps() > ElemwiseChain::kMaxSteps) {
    return std::nullopt;
  }
  const auto shift = static_cast<int64_t>(first->operands.size());
  const auto moved = [&](int64_t argument) {
    return argument == kChained ? kChained : argument + shift;
  };
  const ElemwiseChainParam& more = second->param;
  for (size_t s = 0; s < more.steps(); ++s) {
    AddStep(first->param, ModeOf(more, s), moved(more.a[s]), moved(more.b[s]), moved(more.c[s]));
  }
  Replacement result;
  result.op = std::make_shared<const ElemwiseChain>(std::move(first->param));
  result.operands = std::move(first->operands);
  result.operands.insert(result.operands.end(), second->operands.begin(), second->operands.end());
  return result;
}

}  // namespace ashlar

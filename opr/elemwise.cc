#include "opr/elemwise.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/graph_builder.h"
#include "opr/base/per_channel.h"
#include "opr/base/strided.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(Elemwise)

namespace {

// The largest number of channels whose scales and shifts are written out; no real convolution has
// as many.
constexpr int64_t kMostAffineChannels = 1 << 20;

}  // namespace

double Apply(const ElemwiseParam& param, double a, double b, double c) {
  double arguments[] = {a, b, c};
  const ScalarRow& row = RowOf(param.mode);
  std::copy_n(param.parameters.begin(), row.num_parameters, arguments + row.arity);
  return Apply(param.mode, arguments[0], arguments[1], arguments[2]);
}

PrecisionRule PrecisionOf(ScalarFunction function) {
  return RowOf(function).in_float32 ? PrecisionRule::kFloat32 : PrecisionRule::kFollow;
}

StorageRules Elemwise::storage_rules(const Site& site) const {
  return {.format = PointwiseOperator::storage_rules(site).format,
          .precision = PrecisionOf(param().mode)};
}

std::optional<ActivationTail> AsActivationTail(const Operator& op) {
  const auto* elemwise = dynamic_cast<const Elemwise*>(&op);
  if (elemwise == nullptr) return std::nullopt;
  ElemwiseParam activation = elemwise->param();
  const ScalarRow& row = RowOf(activation.mode);
  if (row.adds) activation = {row.of_sum};
  if (!RowOf(activation.mode).activation) return std::nullopt;
  return ActivationTail{row.adds, activation};
}

absl::StatusOr<TensorType> BroadcastInputs(absl::Span<const InputInfo> inputs) {
  const DType dtype = inputs[0].type.dtype;
  Shape shape = inputs[0].type.shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].type.dtype != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ",
                                                     Name(inputs[i].type.dtype), ", expected ",
                                                     Name(dtype), " as input 0"));
    }
    ASHLAR_ASSIGN_OR_RETURN(shape, Broadcast(shape, inputs[i].type.shape));
  }
  return TensorType{dtype, shape};
}

absl::StatusOr<std::vector<TensorType>> Elemwise::Infer(absl::Span<const InputInfo> inputs) const {
  const ScalarRow& row = RowOf(param().mode);
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, row.arity));
  const DType dtype = inputs[0].type.dtype;
  const bool defined = dtype == DType::kBool   ? row.booleans
                       : dtype == DType::kByte ? false
                                               : row.integers || IsFloat(dtype);
  if (!defined) {
    return absl::InvalidArgumentError(absl::StrCat(row.name, " is not defined for ", Name(dtype)));
  }
  const auto [lo, hi] = param().parameters;
  if (param().mode == ScalarFunction::kClamp && !(lo <= hi)) {
    return absl::InvalidArgumentError(
        absl::StrCat("CLAMP to [", lo, ", ", hi, "]: lo must not exceed hi"));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, BroadcastInputs(inputs));
  return std::vector<TensorType>{std::move(output)};
}

namespace {

// Evaluates the function in Number, on inputs that broadcast to `output`.
template <typename Number>
void EvaluateIn(const ElemwiseParam& param, absl::Span<const HostTensor> inputs,
                HostTensor& output) {
  constexpr int64_t kPiece = 1024;
  const ScalarRow& row = RowOf(param.mode);
  Shape shape = output.shape();
  std::array<Strides, 4> strides;  // the inputs, then the output
  strides.fill(Strides(shape.rank(), 0));
  for (size_t i = 0; i < inputs.size(); ++i)
    strides[i] = BroadcastStrides(inputs[i].shape(), shape);
  strides[3] = ContiguousStrides(shape);
  JoinDimensions(shape, strides);
  std::array<std::array<Number, kPiece>, 3> values = {};
  for (int i = 0; i < row.num_parameters; ++i) {
    values[row.arity + i].fill(ParameterAs<Number>(param.parameters[i]));
  }
  ForEachRow(shape, strides, kPiece, [&](const std::array<int64_t, 4>& offsets, int64_t n) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      LoadRow(inputs[i], offsets[i], strides[i].back(), absl::MakeSpan(values[i].data(), n));
    }
    WithFunction(param.mode, [&](auto function) {
      for (int64_t i = 0; i < n; ++i) {
        values[0][i] = Formula<function()>::Of(values[0][i], values[1][i], values[2][i]);
      }
    });
    StoreRow(absl::MakeConstSpan(values[0].data(), n), offsets[3], output);
  });
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> Elemwise::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  Shape shape = inputs[0].shape();
  for (const HostTensor& input : inputs) {
    ASHLAR_ASSIGN_OR_RETURN(shape, Broadcast(shape, input.shape()));
  }
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), shape);
  WithNumber(output.dtype(),
             [&]<typename Number>(Number) { EvaluateIn<Number>(param(), inputs, output); });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t Elemwise::Computation(const Site& site) const {
  const int64_t operations = std::max<int64_t>(static_cast<int64_t>(site.inputs.size()), 2) - 1;
  return site.outputs[0].shape.num_elements() * operations;
}

std::optional<ChannelAffine> Elemwise::AsChannelAffine(absl::Span<const InputInfo> inputs) const {
  // The only input that is not constant, an image of the output's shape.
  int x = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value != nullptr) continue;
    if (x >= 0) return std::nullopt;
    x = static_cast<int>(i);
  }
  if (x < 0 || inputs[x].type.shape.rank() != 4 || inputs[x].type.dtype != DType::kFloat32) {
    return std::nullopt;
  }
  // Filters with so many channels would be large, but a number added to an image is not.
  const int64_t channels = inputs[x].type.shape[1];
  if (channels > kMostAffineChannels) return std::nullopt;
  std::vector<double> operands[3];
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (i == x) continue;
    std::optional<std::vector<double>> values = PerChannel(inputs[i], channels);
    if (!values.has_value()) return std::nullopt;
    operands[i] = *std::move(values);
  }
  ChannelAffine affine{x, std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  const std::vector<double>& other = operands[1 - std::min(x, 1)];
  switch (param().mode) {
    case ScalarFunction::kNegate:
      affine.scale.assign(channels, -1);
      return affine;
    case ScalarFunction::kAdd:
      affine.shift = other;
      return affine;
    case ScalarFunction::kSub:
      affine.shift = other;
      if (x == 1) {
        affine.scale.assign(channels, -1);
      } else {
        for (double& shift : affine.shift) shift = -shift;
      }
      return affine;
    case ScalarFunction::kMul:
      affine.scale = other;
      return affine;
    case ScalarFunction::kTrueDiv:
      if (x == 1) return std::nullopt;
      for (int64_t c = 0; c < channels; ++c) affine.scale[c] = 1 / other[c];
      return affine;
    case ScalarFunction::kFuseMulAdd3:
      if (x == 2) return std::nullopt;
      affine.scale = other;
      affine.shift = operands[2];
      return affine;
    default:
      return std::nullopt;
  }
}

// Functions that may follow a convolution become tables of 256 bytes. Functions of several tensors
// need a computed one of the output's shape: the first, or either of two factors or addends.
QuantizationRule Elemwise::quantization_rule(const Site& site) const {
  const ScalarRow& row = RowOf(param().mode);
  if (!row.activation && !HasByteFunction(param().mode)) return QuantizationRule::kFloats;
  int first = -1;
  for (int i = 0; i < static_cast<int>(site.inputs.size()); ++i) {
    const InputInfo& input = site.inputs[i];
    if (input.type.dtype != DType::kFloat32) return QuantizationRule::kFloats;
    const bool whole = input.value == nullptr && input.type.shape == site.outputs[0].shape;
    if (whole && first < 0) first = i;
  }
  const bool found = first == 0 || (first == 1 && row.commutative);
  return found ? QuantizationRule::kFollows : QuantizationRule::kFloats;
}

std::optional<ValueRange> Elemwise::Saturation() const {
  switch (param().mode) {
    case ScalarFunction::kIdentity:
      return ValueRange();
    case ScalarFunction::kRelu:
      return ValueRange{.least = 0};
    case ScalarFunction::kClamp:
      return ValueRange{param().parameters[0], param().parameters[1]};
    default:
      return std::nullopt;
  }
}

bool Elemwise::KeepsChannelScales(const Site& site) const {
  switch (param().mode) {
    case ScalarFunction::kIdentity:
    case ScalarFunction::kRelu:
    case ScalarFunction::kLeakyRelu:
      return true;
    case ScalarFunction::kPRelu:
      return site.inputs[1].value != nullptr;
    case ScalarFunction::kAdd:
    case ScalarFunction::kFuseAddRelu:
      return site.inputs[0].type == site.inputs[1].type && site.inputs[0].value == nullptr &&
             site.inputs[1].value == nullptr;
    default:
      return false;
  }
}

}  // namespace ashlar

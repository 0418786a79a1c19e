#include "opr/rewrites/quantized_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/base/operands.h"
#include "opr/quantized_conv.h"
#include "opr/rewrites/composition.h"
#include "opr/rewrites/conv_parts.h"

namespace ashlar {
namespace {

constexpr double kMostWeight = 127;
// The number of products of 255 and 127 whose sum, with a bias of the same size, fits 31 bits.
constexpr int64_t kMostSafeProducts = 32768;
constexpr double kMostBias = 1 << 30;
// Keeps scales far from the smallest float.
constexpr double kLeastScale = 1e-20;

bool IsKnown(const InputInfo& input) {
  return input.value != nullptr && input.value->has_data() &&
         input.value->dtype() == DType::kFloat32;
}

bool IsComputed(const InputInfo& input) {
  return input.value == nullptr && input.type.dtype == DType::kFloat32;
}

// Returns the largest weight of each output channel; these are the outermost dimensions of the
// filter.
std::vector<double> LargestWeights(absl::Span<const float> weights, int64_t channels) {
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  const size_t run = weights.size() / static_cast<size_t>(channels);
  for (size_t i = 0; i < weights.size(); ++i) {
    largest[i / run] = std::max<double>(largest[i / run], std::abs(weights[i]));
  }
  return largest;
}

// The axes of dense and grouped filters: [groups, outputs, inputs, taps].
struct FilterAxes {
  FilterAxes(const ConvBiasParam& param, const Shape& filter) {
    const int first = param.sparse == SparseMode::kGroup ? 1 : 0;
    groups = first == 1 ? filter[0] : 1;
    outputs = filter[first];
    inputs = filter[first + 1];
    taps = filter[first + 2] * filter[first + 3];
  }
  // Calls visit(index among all weights, input channel of the image, output channel).
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    int64_t i = 0;
    for (int64_t o = 0; o < groups * outputs; ++o) {
      for (int64_t c = 0; c < inputs; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
          visit(static_cast<size_t>(i++), static_cast<size_t>(o / outputs * inputs + c),
                static_cast<size_t>(o));
        }
      }
    }
  }
  int64_t groups, outputs, inputs, taps;
};

std::vector<double> ValuesOf(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.At(i));
  return values;
}

// Rounds weights to steps of their channels' scales.
HostTensor Rounded(const HostTensor& filter, size_t channels, absl::Span<const float> scales) {
  const absl::Span<const float> weights = filter.data<float>();
  HostTensor bytes = HostTensor::Zeros(DType::kInt8, filter.shape());
  const absl::Span<int8_t> to = bytes.mutable_data<int8_t>();
  const size_t run = weights.size() / channels;
  for (size_t i = 0; i < weights.size(); ++i) {
    const float steps = std::nearbyint(weights[i] / scales[i / run % scales.size()]);
    to[i] = static_cast<int8_t>(std::clamp<float>(steps, -kMostWeight, kMostWeight));
  }
  return bytes;
}

absl::StatusOr<int> AddConvolution(Composition& graph, ConvBiasParam param, int src,
                                   const HostTensor& filter, absl::Span<const double> bias,
                                   const QuantizationChoice& choice) {
  ASHLAR_ASSIGN_OR_RETURN(
      QuantizedWeights weights,
      QuantizeWeights(filter, bias, graph.type(src).quantization, choice.weights_by_channel));
  param.output = OutputTypeOf(choice.output);
  const int of_filter = graph.Constant(std::move(weights.filter));
  return graph.Add<ConvBiasForward>(std::move(param),
                                    {src, of_filter, graph.Constant(std::move(weights.bias))});
}

}  // namespace

absl::StatusOr<QuantizedWeights> QuantizeWeights(const HostTensor& filter,
                                                 absl::Span<const double> bias,
                                                 const Quantization& src, bool by_channel) {
  const int64_t channels = static_cast<int64_t>(bias.size());
  const std::vector<double> largest = LargestWeights(filter.Computed().data<float>(), channels);
  std::vector<float> scales;
  for (size_t c = 0; c < bias.size(); ++c) {
    const double for_bias = std::abs(bias[c]) / (src.scale() * kMostBias);
    scales.push_back(
        static_cast<float>(std::max({largest[c] / kMostWeight, for_bias, kLeastScale})));
  }
  if (!by_channel) scales = {*std::max_element(scales.begin(), scales.end())};
  ASHLAR_ASSIGN_OR_RETURN(const Quantization of_filter,
                          Quantization::Make(DType::kQuantizedS8, scales));
  ASHLAR_ASSIGN_OR_RETURN(const Quantization of_sums,
                          Quantization::Make(DType::kQuantizedS32, SumScales(src, of_filter)));
  // Rounded when they are packed or written, so that memory holds no copy of all weights.
  const HostTensor bytes =
      HostTensor::Deferred(filter, [scales, channels = bias.size()](const HostTensor& source) {
        return Rounded(source, channels, scales);
      });
  HostTensor addends = HostTensor::Zeros(DType::kInt32, {1, channels, 1, 1});
  const absl::Span<const float> sums = of_sums.scales();
  for (size_t c = 0; c < bias.size(); ++c) {
    const double steps = std::nearbyint(bias[c] / sums[c % sums.size()]);
    addends.mutable_data<int32_t>()[c] =
        static_cast<int32_t>(std::clamp<double>(steps, -kMostBias, kMostBias));
  }
  return QuantizedWeights{bytes.As(DType::kQuantizedS8, of_filter),
                          addends.As(DType::kQuantizedS32, of_sums)};
}

QuantizationRule QuantizationRuleOf(const ConvBiasParam& param,
                                    absl::Span<const InputInfo> inputs) {
  const ScalarFunction mode = param.nonlineMode;
  const bool clamps = mode == ScalarFunction::kIdentity || mode == ScalarFunction::kRelu ||
                      mode == ScalarFunction::kClamp;
  if (!clamps || !param.output.absent() || param.compute_mode != ComputeMode::kDefault ||
      inputs.size() > ConvBiasForward::kBias + 1 || !IsComputed(inputs[0]) ||
      !IsKnown(inputs[ConvBiasForward::kFilter]) ||
      (inputs.size() > ConvBiasForward::kBias && !IsKnown(inputs[ConvBiasForward::kBias]))) {
    return QuantizationRule::kFloats;
  }
  const FilterAxes axes(param, inputs[ConvBiasForward::kFilter].type.shape);
  return axes.inputs * axes.taps <= kMostSafeProducts ? QuantizationRule::kLeads
                                                      : QuantizationRule::kFloats;
}

absl::StatusOr<int> QuantizeConvolution(GraphBuilder& builder, const ConvBiasParam& param,
                                        absl::Span<const int> inputs,
                                        const QuantizationChoice& choice) {
  const HostTensor filter = *builder.graph().constant(inputs[ConvBiasForward::kFilter]);
  const FilterAxes axes(param, filter.shape());
  std::vector<double> bias(static_cast<size_t>(axes.groups * axes.outputs), 0);
  if (inputs.size() > ConvBiasForward::kBias)
    bias = ValuesOf(*builder.graph().constant(inputs[ConvBiasForward::kBias]));
  Composition graph(builder);
  ASHLAR_ASSIGN_OR_RETURN(const int made,
                          AddConvolution(graph, param, inputs[0], filter, bias, choice));
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return made;
}

std::vector<double> ChannelSharesOf(const ConvBiasParam& param,
                                    absl::Span<const InputInfo> inputs) {
  if (inputs.size() > ConvBiasForward::kBias + 1 || !IsKnown(inputs[ConvBiasForward::kFilter]))
    return {};
  const HostTensor& filter = *inputs[ConvBiasForward::kFilter].value;
  const FilterAxes axes(param, filter.shape());
  std::vector<double> shares(static_cast<size_t>(axes.groups * axes.inputs), 0);
  if (axes.inputs == 1) return shares;
  const HostTensor computed = filter.Computed();
  const absl::Span<const float> weights = computed.data<float>();
  const std::vector<double> largest = LargestWeights(weights, axes.groups * axes.outputs);
  axes.ForEach([&](size_t i, size_t input, size_t output) {
    if (largest[output] == 0) return;
    shares[input] = std::max(shares[input], std::abs(weights[i]) / largest[output]);
  });
  return shares;
}

std::optional<Replacement> AbsorbInputScalesInto(std::shared_ptr<const Operator> op,
                                                 const ConvBiasParam& param,
                                                 absl::Span<const InputInfo> inputs,
                                                 absl::Span<const double> scales) {
  if (ChannelSharesOf(param, inputs).size() != scales.size()) return std::nullopt;
  const HostTensor& filter = *inputs[ConvBiasForward::kFilter].value;
  const FilterAxes axes(param, filter.shape());
  const auto scale = [axes, factors = std::vector<double>(scales.begin(), scales.end())](
                         const HostTensor& source) {
    HostTensor scaled = HostTensor::Zeros(DType::kFloat32, source.shape());
    const absl::Span<const float> from = source.data<float>();
    const absl::Span<float> to = scaled.mutable_data<float>();
    axes.ForEach([&](size_t i, size_t input, size_t) {
      to[i] = static_cast<float>(from[i] * factors[input]);
    });
    return scaled;
  };
  Replacement result{std::move(op), OwnOperands(inputs.size())};
  result.operands[ConvBiasForward::kFilter] = ConstantOperand(HostTensor::Deferred(filter, scale));
  return result;
}

QuantizationRule QuantizationRuleOf(const MatrixMulParam& param,
                                    absl::Span<const InputInfo> inputs) {
  const bool fits = !param.transposeA && param.compute_mode == ComputeMode::kDefault &&
                    IsComputed(inputs[0]) && inputs[0].type.shape.rank() >= 2 &&
                    IsKnown(inputs[1]) && inputs[1].type.shape.rank() == 2 &&
                    inputs[1].type.shape[param.transposeB ? 1 : 0] <= kMostSafeProducts &&
                    (inputs.size() < 3 || IsKnown(inputs[2]));
  return fits ? QuantizationRule::kLeads : QuantizationRule::kFloats;
}

// Rows become images of one pixel.
absl::StatusOr<int> QuantizeProduct(GraphBuilder& builder, const MatrixMulParam& param, bool relu,
                                    absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) {
  const HostTensor filter = FilterOfMatrix(*builder.graph().constant(inputs[1]), param.transposeB);
  const int64_t outputs = filter.shape()[0], depth = filter.shape()[1];
  std::vector<double> bias(static_cast<size_t>(outputs), 0);
  if (inputs.size() > 2) bias = ValuesOf(*builder.graph().constant(inputs[2]));
  Composition graph(builder);
  const int64_t rows = graph.type(inputs[0]).shape.num_elements() / depth;
  const int pixels = graph.ReshapedImages(inputs[0], {rows, depth, 1, 1});
  ASHLAR_RETURN_IF_ERROR(graph.status());
  ConvBiasParam product;
  if (relu) product.nonlineMode = ScalarFunction::kRelu;
  ASHLAR_ASSIGN_OR_RETURN(const int made,
                          AddConvolution(graph, product, pixels, filter, bias, choice));
  ASHLAR_RETURN_IF_ERROR(graph.status());
  // Rows of more dimensions may change in any of them.
  const int result = graph.type(inputs[0]).shape.rank() == 2
                         ? graph.ReshapedImages(made, choice.output.shape)
                         : graph.ReshapedAs(made, inputs[0], outputs);
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return result;
}

}  // namespace ashlar

#include "serialization/tflite/import/linear.h"

#include <cmath>
#include <limits>

#include "opr/quantized_conv.h"
#include "opr/type_cvt.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::Activation;

// The bounds of an activation's result.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool any() const { return std::isfinite(low) || std::isfinite(high); }
};
struct BoundsRow {
  Activation activation;
  Bounds bounds;
};
constexpr BoundsRow kBoundsRows[] = {
    {Activation::NONE, {}},
    {Activation::RELU, {0}},
    {Activation::RELU_N1_TO_1, {-1, 1}},
    {Activation::RELU6, {0, 6}},
};

const Bounds* BoundsOf(Activation activation) {
  for (const BoundsRow& row : kBoundsRows) {
    if (row.activation == activation) return &row.bounds;
  }
  return nullptr;
}

// Returns the bias as Int32 of as many elements as channels; zeros if it is absent.
HostTensor IntegerBias(TfliteNode& node, int bias, int64_t channels) {
  HostTensor values = HostTensor::Zeros(DType::kInt32, {channels});
  if (!node.has(bias)) return values;
  const TfliteVar var = node.Input(bias);
  const HostTensor* const given = node.constant(var);
  if (!node.ok()) return values;
  if (given == nullptr || given->dtype() != DType::kInt32 || given->num_elements() != channels) {
    node.Invalid("the bias (input ", bias, ") is ", node.type(var).ToString(), ", expected Int32{",
                 channels, "} of a known value");
    return values;
  }
  return given->Reshaped({channels});
}

// Computes in integers.
TfliteVar InIntegers(TfliteNode& node, const TfliteLinear& linear, TfliteVar x,
                     const TfliteWeights& weights, const HostTensor& bias, const Bounds& bounds,
                     const OutputType& output) {
  const auto of_weights = Quantization::Make(DType::kQuantizedS8, weights.scales);
  if (!of_weights.ok()) return node.Fail(of_weights.status());
  const auto of_sums =
      Quantization::Make(DType::kQuantizedS32, SumScales(node.type(x).quantization, *of_weights));
  if (!of_sums.ok()) return node.Fail(of_sums.status());
  const TfliteVar arranged = linear.arranged(node.Constant(weights.bytes));
  const HostTensor* const bytes = node.constant(arranged);
  if (bytes == nullptr) return kNoTfliteVar;
  ConvBiasParam param;
  param.output = output;
  if (std::isfinite(bounds.high)) {
    param.nonlineMode = F::kClamp;
    param.parameters = {bounds.low, bounds.high};
  } else if (bounds.any()) {
    param.nonlineMode = F::kRelu;
  }
  const HostTensor addends = bias.Reshaped({1, linear.channels, 1, 1});
  return linear.integers(x, node.Constant(bytes->As(DType::kQuantizedS8, *of_weights)),
                         node.Constant(addends.As(DType::kQuantizedS32, *of_sums)), param);
}

// Sums integers as floats, which are exact below 2^24, and rounds them in the same way.
TfliteVar InExactFloats(TfliteNode& node, const TfliteLinear& linear, TfliteVar x,
                        TfliteVar weights, const std::vector<float>& scales, const HostTensor& bias,
                        const Bounds& bounds, const OutputType& output) {
  TfliteVar sums = linear.floats(node.Centred(x), weights, true);
  HostTensor addends = HostTensor::Zeros(DType::kFloat32, linear.per_channel);
  HostTensor factors = HostTensor::Zeros(DType::kFloat32, linear.per_channel);
  if (!node.ok()) return kNoTfliteVar;
  const float of_x = node.type(x).quantization.scale(), of_y = static_cast<float>(output.scale);
  for (int64_t c = 0; c < linear.channels; ++c) {
    addends.Set(c, bias.At(c));
    const float scale = scales[scales.size() == 1 ? 0 : static_cast<size_t>(c)];
    factors.mutable_data<float>()[c] = of_x * scale / of_y;
  }
  sums = node.Function(F::kAdd, {sums, node.Constant(std::move(addends))});
  TfliteVar steps = node.Function(F::kMul, {sums, node.Constant(std::move(factors))});
  if (bounds.any()) {
    const auto bound = [&](double value) {
      return std::nearbyint(static_cast<float>(value) / of_y);
    };
    steps = node.Function(F::kRint, {steps});
    steps = std::isfinite(bounds.high)
                ? node.Function(F::kClamp, {steps}, {bound(bounds.low), bound(bounds.high)})
                : node.Function(F::kRelu, {steps});
  }
  return node.FromSteps(steps, output);
}

}  // namespace

TfliteVar Computed(TfliteNode& node, const TfliteLinear& linear, TfliteVar x, int weights, int bias,
                   Activation activation) {
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  const Bounds* const bounds = BoundsOf(activation);
  if (!node.ok()) return kNoTfliteVar;
  if (IsQuantized(node.type(x).dtype) && output && bounds != nullptr) {
    const HostTensor addends = IntegerBias(node, bias, linear.channels);
    const std::optional<TfliteWeights> known = node.Weights(weights, linear.weights_axis);
    if (!node.ok()) return kNoTfliteVar;
    if (known && linear.integers != nullptr) {
      return InIntegers(node, linear, x, *known, addends, *bounds, *output);
    }
    const TfliteVar given = node.Input(weights);
    if (known) {
      return InExactFloats(node, linear, x,
                           node.Converted(node.Constant(known->bytes), DType::kFloat32),
                           known->scales, addends, *bounds, *output);
    }
    if (IsQuantized(node.type(given).dtype)) {
      return InExactFloats(node, linear, x, node.Centred(given),
                           {node.type(given).quantization.scale()}, addends, *bounds, *output);
    }
  }
  TfliteVar y = linear.floats(node.Converted(x, DType::kFloat32), node.Floats(weights), false);
  if (node.has(bias)) {
    const TfliteVar addends = node.Floats(bias);
    if (node.ok() && node.shape(addends).num_elements() != linear.channels) {
      return node.Invalid("the bias (input ", bias, ") is ", node.type(addends).ToString(),
                          ", expected ", linear.channels, " elements");
    }
    y = node.Function(F::kAdd, {y, node.Reshaped(addends, linear.per_channel)});
  }
  return node.Activated(y, activation);
}

}  // namespace ashlar

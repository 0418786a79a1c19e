#include "serialization/onnx/import/integer_sums.h"

#include <algorithm>
#include <cmath>

namespace ashlar {
namespace {

constexpr double kDigit = 16;
constexpr double kExact = 1 << 24;  // below this, Float32 holds all integers

// Returns the largest possible magnitude of a sum or partial sum: products of `x` and one channel's
// weights (if known), plus its bias.
double Most(OnnxNode& node, const OnnxIntegers& x, const OnnxIntegers& weights, int channels,
            int64_t terms, const std::vector<double>& bias) {
  const HostTensor* const known = node.constant(weights.var);
  double most = 0;
  for (const double value : bias) most = std::max(most, std::abs(value));
  if (known == nullptr) return most + static_cast<double>(terms) * x.most * weights.most;
  const Shape& shape = known->shape();
  int64_t inner = 1;
  for (int axis = channels + 1; axis < shape.rank(); ++axis) inner *= shape[axis];
  std::vector<double> sums(static_cast<size_t>(shape[channels]), 0.0);
  for (int64_t i = 0; i < known->num_elements(); ++i) {
    sums[i / inner % shape[channels]] += std::abs(known->At(i)) * x.most;
  }
  double largest = 0;
  for (size_t c = 0; c < sums.size(); ++c) {
    const double own = bias.size() == sums.size() ? std::abs(bias[c]) : most;
    largest = std::max(largest, sums[c] + own);
  }
  return largest;
}

OnnxVar WithBias(OnnxNode& node, OnnxVar sums, const std::vector<double>& bias, int along) {
  if (bias.empty() || !node.ok()) return sums;
  HostTensor values = HostTensor::Zeros(DType::kFloat32, {static_cast<int64_t>(bias.size())});
  std::copy(bias.begin(), bias.end(), values.mutable_data<float>().begin());
  const OnnxVar addend = node.Constant(std::move(values));
  return node.Sum(sums, OnnxAlongAxis(node, addend, along, node.rank(sums)));
}

}  // namespace

OnnxVar OnnxAlongAxis(OnnxNode& node, OnnxVar values, int axis, int rank) {
  if (!node.ok() || node.rank(values) != 1) return values;
  const int64_t size = node.shape(values)[0];
  if (size == 1) return node.Reshaped(values, {});
  Shape along;
  for (int i = 0; i < rank; ++i) along.push_back(i == axis ? size : 1);
  return node.Reshaped(values, along);
}

OnnxVar OnnxIntegerSums::Rounded(OnnxNode& node) const {
  return high == kNoOnnxVar ? low : node.Sum(node.Product(high, kDigit), low);
}

OnnxVar OnnxIntegerSums::AsInt32(OnnxNode& node) const {
  const OnnxVar small = node.Converted(low, DType::kInt32);
  if (high == kNoOnnxVar) return small;
  return node.Sum(node.Product(node.Converted(high, DType::kInt32), kDigit), small);
}

std::optional<OnnxIntegerSums> SumsOfIntegers(OnnxNode& node, OnnxLinear linear,
                                              const OnnxIntegers& x, const OnnxIntegers& weights,
                                              int channels, int64_t terms, const HostTensor* bias,
                                              int along) {
  if (!node.ok()) return std::nullopt;
  std::vector<double> addends, low, high;
  for (int64_t i = 0; bias != nullptr && i < bias->num_elements(); ++i) {
    addends.push_back(bias->At(i));
    high.push_back(std::rint(bias->At(i) / kDigit));
    low.push_back(bias->At(i) - kDigit * high.back());
  }
  OnnxIntegerSums sums;
  if (Most(node, x, weights, channels, terms, addends) < kExact) {
    sums.low = WithBias(node, linear(x.var, weights.var), addends, along);
    return sums;
  }
  const OnnxVar upper =
      node.Function(ScalarFunction::kRint, {node.Product(weights.var, 1 / kDigit)});
  const OnnxVar lower = node.Difference(weights.var, node.Product(upper, kDigit));
  const OnnxIntegers digits[] = {{lower, kDigit / 2}, {upper, weights.most / kDigit + 0.5}};
  if (!node.ok() || Most(node, x, digits[0], channels, terms, low) >= kExact ||
      Most(node, x, digits[1], channels, terms, high) >= kExact) {
    return std::nullopt;
  }
  sums.low = WithBias(node, linear(x.var, lower), low, along);
  sums.high = WithBias(node, linear(x.var, upper), high, along);
  return sums;
}

}  // namespace ashlar

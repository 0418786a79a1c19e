// Sums of products of integers, by operators in Float32: exact as long as no sum reaches 2^24.
#ifndef ASHLAR_SERIALIZATION_ONNX_INTEGER_SUMS_H_
#define ASHLAR_SERIALIZATION_ONNX_INTEGER_SUMS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "serialization/onnx/node.h"

namespace ashlar {

// An operand, as Float32, and the most that one of its integers is away from zero.
struct OnnxIntegers {
  OnnxVar var = kNoOnnxVar;
  double most = 0;
};

// Integers beyond 2^24 as low + 16 * high, each of which is exact.
struct OnnxIntegerSums {
  OnnxVar low = kNoOnnxVar;
  OnnxVar high = kNoOnnxVar;  // kNoOnnxVar where `low` is all

  OnnxVar Rounded(OnnxNode& node) const;  // to Float32, once
  OnnxVar AsInt32(OnnxNode& node) const;
};

// An operator that is linear in the weights: a convolution or a product of matrices without a bias.
using OnnxLinear = absl::FunctionRef<OnnxVar(OnnxVar x, OnnxVar weights)>;

// linear(x, weights) + bias, exactly: weights that are too large are taken apart into digits.
// `channels` is the axis of the weights that no sum is over, `terms` the number of products in a
// sum. `bias` is null or a constant of Int32, one for each channel along axis `along` of the
// result. Nullopt where sums may be too large.
std::optional<OnnxIntegerSums> SumsOfIntegers(OnnxNode& node, OnnxLinear linear,
                                              const OnnxIntegers& x, const OnnxIntegers& weights,
                                              int channels, int64_t terms, const HostTensor* bias,
                                              int along);

// Values of one axis, [size], so that they broadcast to tensors of this rank; others as they are.
OnnxVar OnnxAlongAxis(OnnxNode& node, OnnxVar values, int axis, int rank);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_INTEGER_SUMS_H_

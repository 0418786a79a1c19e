// Sums of products of integers by Float32 operators: exact as long as no sum reaches 2^24.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_INTEGER_SUMS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_INTEGER_SUMS_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "serialization/onnx/import/node.h"

namespace ashlar {

// An operand as Float32, and the largest magnitude of its integers.
struct OnnxIntegers {
  OnnxVar var = kNoOnnxVar;
  double most = 0;
};

// The integers low + 16 * high, which may exceed 2^24; both parts are exact.
struct OnnxIntegerSums {
  OnnxVar low = kNoOnnxVar;
  OnnxVar high = kNoOnnxVar;  // kNoOnnxVar if `low` is the whole value

  OnnxVar Rounded(OnnxNode& node) const;  // rounds to Float32, once
  OnnxVar AsInt32(OnnxNode& node) const;
};

// An operator that is linear in the weights: a convolution or matrix product without bias.
using OnnxLinear = absl::FunctionRef<OnnxVar(OnnxVar x, OnnxVar weights)>;

// Computes linear(x, weights) + bias exactly; weights that are too large are split into digits.
// `channels` is the axis of the weights that is not summed, `terms` the number of products per sum.
// `bias` is null or an Int32 constant, one value per index along axis `along` of the result.
// Returns nullopt if sums may be too large.
std::optional<OnnxIntegerSums> SumsOfIntegers(OnnxNode& node, OnnxLinear linear,
                                              const OnnxIntegers& x, const OnnxIntegers& weights,
                                              int channels, int64_t terms, const HostTensor* bias,
                                              int along);

// Reshapes values [size] of one axis so that they broadcast to tensors of this rank; returns others
// unchanged.
OnnxVar OnnxAlongAxis(OnnxNode& node, OnnxVar values, int axis, int rank);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_INTEGER_SUMS_H_

// The ranges of sizes that depend on data, through shape arithmetic.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_RANGES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_RANGES_H_

#include <functional>
#include <vector>

#include "serialization/onnx/import/import.h"

namespace ashlar {

// How the least and the most of inputs give the least and the most of an output, by element.
enum class OnnxRangeRule {
  kUnknown,
  kRising,    // with each input
  kProduct,   // with each input, if none is negative
  kQuotient,  // with input 0, if it is not negative and input 1 is known and greater than 0
  kDifference,
  kEqual,
  kWhere,
};

// Evaluates a node at given inputs; none if it cannot.
using OnnxAtInputs = std::function<std::vector<HostTensor>(const std::vector<HostTensor>&)>;
// Returns the ranges of a node's outputs by the ranges of its inputs; none if the rule knows none.
std::vector<OnnxRange> OnnxRangesOf(OnnxRangeRule rule, const std::vector<OnnxVar>& inputs,
                                    const OnnxImport& import, const OnnxAtInputs& evaluate);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_RANGES_H_

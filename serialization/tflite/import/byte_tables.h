// Functions of 8-bit integers that LiteRT computes in fixed-point numbers: their results by input.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_BYTE_TABLES_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_BYTE_TABLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/shape.h"
#include "opr/base/output_type.h"

namespace ashlar {

// Each returns the output's integers by the input's, from the least; nullopt if LiteRT refuses the
// scales or computes them otherwise.

// A conversion to another scale: x for x >= 0, and `slope` * x below. XNNPACK rounds the ratio of
// the scales to 1/256, and a half up.
std::optional<std::vector<int64_t>> XnnpackLinearTable(const TensorType& input,
                                                       const OutputType& output, float slope = 1);

// x * min(max(x + 3, 0), 6) / 6, of which LiteRT rounds the factors to 16 bits.
std::optional<std::vector<int64_t>> LiteRtHardSwishTable(const TensorType& input,
                                                         const OutputType& output);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_BYTE_TABLES_H_

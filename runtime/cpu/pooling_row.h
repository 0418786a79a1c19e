// The inner loops of pooling: computes one row of the output from the input rows that it covers.
// They follow the definition, window by window; small maximum windows share their common columns.
#ifndef ASHLAR_RUNTIME_CPU_POOLING_ROW_H_
#define ASHLAR_RUNTIME_CPU_POOLING_ROW_H_

#include <cstdint>

#include "opr/pooling.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// `plane` is the start of one channel of an image (or of one block of 16 channels), with rows
// `pitch` elements apart. `output` is the start of row `oh` of the result, with pixels `step`
// elements apart. Maxima propagate NaN; sums stay accurate in large windows.
using PoolRowFunction = void (*)(const float* plane, int64_t pitch, float* output, int64_t step,
                                 const PoolingGeometry& geometry, int64_t oh, PoolingMode mode);

// Returns the function for planes of blocks if `blocked`, otherwise of single channels.
PoolRowFunction PoolRowFor(Isa isa, bool blocked, const PoolingGeometry& geometry,
                           PoolingMode mode);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_POOLING_ROW_H_

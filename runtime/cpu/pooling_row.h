// The inner loops of pooling: one row of the output from the rows of the input that it covers, by
// the definition, window by window; small windows of maxima share the columns that neighbours have
// in common.
#ifndef ASHLAR_RUNTIME_CPU_POOLING_ROW_H_
#define ASHLAR_RUNTIME_CPU_POOLING_ROW_H_

#include <cstdint>

#include "opr/pooling.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// `plane` is where one channel of an image begins (or one block of 16 channels), whose rows are
// `pitch` elements apart; `output` is where row `oh` of the result begins, whose pixels are `step`
// elements apart. Maxima hand a NaN on; sums stay accurate in large windows.
using PoolRowFunction = void (*)(const float* plane, int64_t pitch, float* output, int64_t step,
                                 const PoolingGeometry& geometry, int64_t oh, PoolingMode mode);

// For planes of single channels, or of blocks.
PoolRowFunction PoolRowFor(Isa isa, bool blocked, const PoolingGeometry& geometry,
                           PoolingMode mode);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_POOLING_ROW_H_

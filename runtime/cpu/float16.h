// Converts rows of 16-bit floats to Float32, and back with rounding to nearest, ties to even.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_H_

#include <cstdint>

#include "graph/dtype.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline bool Is16BitFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// Converts `n` adjacent elements; `from` and `to` do not overlap.
using WidenFunction = void (*)(const uint16_t* from, float* to, int64_t n);
using NarrowFunction = void (*)(const float* from, uint16_t* to, int64_t n);

// `dtype` is Float16 or BFloat16; null for others.
WidenFunction WidenFor(DType dtype, Isa isa);
NarrowFunction NarrowFor(DType dtype, Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_H_

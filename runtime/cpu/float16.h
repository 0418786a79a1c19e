// Converts rows of Float16 to Float32, and back with rounding to nearest, ties to even.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_H_

#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Converts `n` adjacent elements; `from` and `to` do not overlap.
using WidenFunction = void (*)(const uint16_t* from, float* to, int64_t n);
using NarrowFunction = void (*)(const float* from, uint16_t* to, int64_t n);

WidenFunction WidenFor(Isa isa);
NarrowFunction NarrowFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_H_

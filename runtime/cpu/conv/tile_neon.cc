// Vectors of four floats, written as any other: 64-bit Arm runs them, and x86 can, whose tests do.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {

// 24 sums, four vectors of weights and one of input: 29 of 32 registers.
extern const ConvTileCode kConvTileNeon = MakeConvTileCode<4, 1, 6>();

}  // namespace ashlar::cpu

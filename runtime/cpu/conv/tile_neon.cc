// Vectors of four floats, in portable code. 64-bit Arm runs it; x86 can too, which only its tests
// do.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {

// 24 sums, four vectors of weights and one of input: 29 of 32 registers.
extern const ConvTileCode kConvTileNeon = MakeConvTileCode<4, 1, 6>();

}  // namespace ashlar::cpu

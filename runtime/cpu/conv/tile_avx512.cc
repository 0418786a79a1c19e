// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {

// 28 sums, two vectors of weights and one of input: 31 of 32 registers.
extern const ConvTileCode kConvTileAvx512 = MakeConvTileCode<16, 2, 14>();

}  // namespace ashlar::cpu

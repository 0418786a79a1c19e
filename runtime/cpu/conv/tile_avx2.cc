// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {

// 12 sums, two vectors of weights and one of input: 15 of 16 registers. Depthwise, inputs are
// memory operands of the additions, so there are registers for 14 sums.
extern const ConvTileCode kConvTileAvx2 = MakeConvTileCode<8, 1, 6, 7>();

}  // namespace ashlar::cpu

// Vectors of four floats: see tile_neon.cc.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCodes kWinogradNeon = MakeWinogradCodes<4>();

}  // namespace ashlar::cpu

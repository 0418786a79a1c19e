// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCodes kWinogradAvx2 = MakeWinogradCodes<8>();

}  // namespace ashlar::cpu

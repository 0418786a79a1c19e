// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCodes kWinogradAvx512 = MakeWinogradCodes<16>();

}  // namespace ashlar::cpu

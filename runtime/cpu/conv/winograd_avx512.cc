// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCode kWinogradAvx512[5] = {
#if defined(__x86_64__)
    {},
    {},
    {WinogradRunner<16, 2>::Input, WinogradRunner<16, 2>::Output},
    {WinogradRunner<16, 3>::Input, WinogradRunner<16, 3>::Output},
    {WinogradRunner<16, 4>::Input, WinogradRunner<16, 4>::Output}
#endif
};

}  // namespace ashlar::cpu

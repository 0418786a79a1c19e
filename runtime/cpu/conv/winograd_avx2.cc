// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCode kWinogradAvx2[5] = {
#if defined(__x86_64__)
    {},
    {},
    {WinogradRunner<8, 2>::Input, WinogradRunner<8, 2>::Output},
    {WinogradRunner<8, 3>::Input, WinogradRunner<8, 3>::Output},
    {WinogradRunner<8, 4>::Input, WinogradRunner<8, 4>::Output}
#endif
};

}  // namespace ashlar::cpu

// Vectors of four floats, which every processor that we know has: see tile_neon.cc.
#include "runtime/cpu/conv/winograd_code.h"

namespace ashlar::cpu {

extern const WinogradCode kWinogradNeon[5] = {
    {},
    {},
    {WinogradRunner<4, 2>::Input, WinogradRunner<4, 2>::Output},
    {WinogradRunner<4, 3>::Input, WinogradRunner<4, 3>::Output},
    {WinogradRunner<4, 4>::Input, WinogradRunner<4, 4>::Output}};

}  // namespace ashlar::cpu

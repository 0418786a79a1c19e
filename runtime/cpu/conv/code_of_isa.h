// The innermost code of convolutions for an instruction set.
#ifndef ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_
#define ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_

#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/conv/winograd_tile.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// `isa` is not kBaseline, which has none. What another architecture runs may have no functions, but
// says how large its tiles are.
const ConvTileCode& ConvTileCodeFor(Isa isa);
// F(m x m), for m from 2 to 4.
const WinogradCode& WinogradCodeFor(Isa isa, int m);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_

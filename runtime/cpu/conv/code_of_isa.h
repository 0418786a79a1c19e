// The innermost code of convolutions for an instruction set.
#ifndef ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_
#define ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_

#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/conv/winograd_tile.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// `isa` must not be kBaseline, which has no such code. Code for another architecture may lack
// functions (they are null), but always states its tile sizes.
const ConvTileCode& ConvTileCodeFor(Isa isa);
// Returns the code of F(m x m), for m in [2, 4].
const WinogradCode& WinogradCodeFor(Isa isa, int m);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_CODE_OF_ISA_H_

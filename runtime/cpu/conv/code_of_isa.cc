#include "runtime/cpu/conv/code_of_isa.h"

namespace ashlar::cpu {

const ConvTileCode& ConvTileCodeFor(Isa isa) {
  return isa == Isa::kAvx512 ? kConvTileAvx512 : isa == Isa::kAvx2 ? kConvTileAvx2 : kConvTileNeon;
}

const WinogradCode& WinogradCodeFor(Isa isa, int m) {
  return (isa == Isa::kAvx512 ? kWinogradAvx512
          : isa == Isa::kAvx2 ? kWinogradAvx2
                              : kWinogradNeon)
      .of[m];
}

}  // namespace ashlar::cpu

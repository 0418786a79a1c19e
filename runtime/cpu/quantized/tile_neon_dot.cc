// The tile of 64-bit Arm with dot products (sdot): 24 sums, a panel of weights and one vector of
// input in 29 of 32 registers.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_neon.h"

namespace ashlar::cpu {
namespace {

struct DotProduct {
  static constexpr bool kSigned = true;
  static int32x4_t Add(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    return vdotq_s32(sums, bytes, weights);
  }
};

}  // namespace

extern const TileCode kTileNeonDot;
const TileCode kTileNeonDot = MakeTileCode<VectorsNeon<DotProduct>, 6, 1>();

}  // namespace ashlar::cpu

// The tile of every 64-bit Arm: 16 sums, a panel of weights and one vector of input in 21 of 32
// registers. Products are 16-bit integers, which are added in pairs.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_neon.h"

namespace ashlar::cpu {
namespace {

struct Widened {
  static constexpr bool kSigned = true;
  static int32x4_t Add(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    const int16x8_t low = vmull_s8(vget_low_s8(bytes), vget_low_s8(weights));
    const int16x8_t high = vmull_high_s8(bytes, weights);
    return vaddq_s32(sums, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
  }
};

}  // namespace

extern const TileCode kTileNeon;
const TileCode kTileNeon = MakeTileCode<VectorsNeon<Widened>, 4, 1>();

}  // namespace ashlar::cpu

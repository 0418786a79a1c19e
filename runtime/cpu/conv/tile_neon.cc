// Vectors of four floats, written as any other: 64-bit Arm runs them, and x86 can, so that tests
// there see them too.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {
namespace {

template <int kPixels>
constexpr ConvTileFunction kRun = ConvTileRunner<4, kPixels, 1>::Run;

template <int kPixels>
constexpr ConvTileFunction kDepthwise = ConvTileRunner<4, kPixels, 1>::RunDepthwise;

}  // namespace

// 24 sums, four vectors of weights and one of input: 29 of 32 registers.
extern const ConvTileCode kConvTileNeon = {
    1,
    6,
    {{}, {nullptr, kRun<1>, kRun<2>, kRun<3>, kRun<4>, kRun<5>, kRun<6>}, {}},
    {nullptr, kDepthwise<1>, kDepthwise<2>, kDepthwise<3>, kDepthwise<4>, kDepthwise<5>,
     kDepthwise<6>},
    MultiplyAdd<4>::Run,
    MultiplyAdd<4>::kFlops};

}  // namespace ashlar::cpu

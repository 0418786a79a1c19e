// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {
namespace {

template <int kPixels>
constexpr ConvTileFunction kRun = ConvTileRunner<8, kPixels, 1>::Run;

template <int kPixels>
constexpr ConvTileFunction kDepthwise = ConvTileRunner<8, kPixels, 1>::RunDepthwise;

}  // namespace

// 12 sums, two vectors of weights and one of input: 15 of 16 registers.
extern const ConvTileCode kConvTileAvx2 = {
    1,
    6,
#if defined(__x86_64__)
    {{}, {nullptr, kRun<1>, kRun<2>, kRun<3>, kRun<4>, kRun<5>, kRun<6>}, {}},
    {nullptr, kDepthwise<1>, kDepthwise<2>, kDepthwise<3>, kDepthwise<4>, kDepthwise<5>,
     kDepthwise<6>},
    MultiplyAdd<8>::Run,
    MultiplyAdd<8>::kFlops
#else  // where it is planned for, and not run
    {}, {}, nullptr,
    0
#endif
};

}  // namespace ashlar::cpu

// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/conv/tile_code.h"

namespace ashlar::cpu {
namespace {

template <int kPixels, int kBlocks>
constexpr ConvTileFunction kRun = ConvTileRunner<16, kPixels, kBlocks>::Run;

template <int kPixels>
constexpr ConvTileFunction kDepthwise = ConvTileRunner<16, kPixels, 1>::RunDepthwise;

}  // namespace

// 28 sums, two vectors of weights and one of input: 31 of 32 registers.
extern const ConvTileCode kConvTileAvx512 = {
    2,
    14,
#if defined(__x86_64__)
    {{},
     {nullptr, kRun<1, 1>, kRun<2, 1>, kRun<3, 1>, kRun<4, 1>, kRun<5, 1>, kRun<6, 1>, kRun<7, 1>,
      kRun<8, 1>, kRun<9, 1>, kRun<10, 1>, kRun<11, 1>, kRun<12, 1>, kRun<13, 1>, kRun<14, 1>},
     {nullptr, kRun<1, 2>, kRun<2, 2>, kRun<3, 2>, kRun<4, 2>, kRun<5, 2>, kRun<6, 2>, kRun<7, 2>,
      kRun<8, 2>, kRun<9, 2>, kRun<10, 2>, kRun<11, 2>, kRun<12, 2>, kRun<13, 2>, kRun<14, 2>}},
    {nullptr, kDepthwise<1>, kDepthwise<2>, kDepthwise<3>, kDepthwise<4>, kDepthwise<5>,
     kDepthwise<6>, kDepthwise<7>, kDepthwise<8>, kDepthwise<9>, kDepthwise<10>, kDepthwise<11>,
     kDepthwise<12>, kDepthwise<13>, kDepthwise<14>},
    MultiplyAdd<16>::Run,
    MultiplyAdd<16>::kFlops
#else  // where it is planned for, and not run
    {}, {}, nullptr,
    0
#endif
};

}  // namespace ashlar::cpu

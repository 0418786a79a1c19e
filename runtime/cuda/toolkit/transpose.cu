// Launches of transposes.
#include "runtime/cuda/toolkit/grid.h"
#include "runtime/cuda/transpose_code.h"

namespace ashlar::cuda {
namespace {

template <typename From, typename To>
__global__ void __launch_bounds__(kTile* kTileRows)
    TransposeTilesKernel(const __grid_constant__ TransposeParams p, int64_t tiles) {
  __shared__ To tile[kTile][kTile + 1];
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const TileOrigin origin = OriginOf(p, t);
    ReadTile<From>(p, origin, threadIdx.x, threadIdx.y, tile);
    __syncthreads();
    WriteTile(p, origin, threadIdx.x, threadIdx.y, tile);
    __syncthreads();
  }
}

template <typename From, typename To>
__global__ void __launch_bounds__(kStrip)
    TransposeStripsKernel(const __grid_constant__ TransposeParams p, int64_t strips) {
  __shared__ To elements[kStripElements];
  for (int64_t s = blockIdx.x; s < strips; s += gridDim.x) {
    const Strip strip = StripOf(p, s);
    ReadStrip<From>(p, strip, threadIdx.x, elements);
    __syncthreads();
    WriteStrip(p, strip, threadIdx.x, elements);
    __syncthreads();
  }
}

}  // namespace

LaunchError Launch(const TransposeParams& p, void* stream) {
  const auto start = [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    if (ByStrips(p)) {
      const int64_t strips = p.batch * StripsAcross(p);
      return Start(TransposeStripsKernel<From, To>,
                   static_cast<unsigned>(std::min(strips, kMaxBlocks)), kStrip, stream, p, strips);
    }
    const int64_t tiles = p.batch * TilesAcross(p.rows) * TilesAcross(p.columns);
    return Start(TransposeTilesKernel<From, To>, static_cast<unsigned>(std::min(tiles, kMaxBlocks)),
                 dim3(kTile, kTileRows), stream, p, tiles);
  };
  if (p.from != p.to) {
    if (p.from != Scalar::kFloat32) {
      return WithReal(p.from, [&](auto from) { return start(from, float()); });
    }
    return WithReal(p.to, [&](auto to) { return start(float(), to); });
  }
  const bool wide = p.to != Scalar::kFloat16 && p.to != Scalar::kBFloat16;
  return wide ? start(uint32_t(), uint32_t()) : start(uint16_t(), uint16_t());
}

}  // namespace ashlar::cuda

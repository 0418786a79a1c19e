// Matrix transposes by tiles in shared memory (Ruetsch and Micikevicius 2009, "Optimizing Matrix
// Transpose in CUDA"), optionally to another dtype: NCHW to NHWC and back. Compiles for the host
// and for devices; each function does the work of one thread.
#ifndef ASHLAR_RUNTIME_CUDA_TRANSPOSE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_TRANSPOSE_CODE_H_

#include <cstdint>
#include <type_traits>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// The parameters of out[b][c][r] = in[b][r][c].
struct TransposeParams {
  int64_t batch = 0, rows = 0, columns = 0;
  // The same dtype of 2 or 4 bytes, or Float32 and a 16-bit float.
  Scalar from = Scalar::kFloat32, to = Scalar::kFloat32;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const TransposeParams& params, void* stream);

template <typename To, typename From>
ASHLAR_HD To Converted(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    To to;
    FromFloat(ToFloat(value), to);
    return to;
  }
}

// Calls store(i, load(i)) for i = first, first + step, ... below `end`. Several loads are in
// flight, because global memory is slow.
template <typename To, typename Load, typename Store>
ASHLAR_HD void Move(int first, int step, int end, const Load& load, const Store& store) {
  constexpr int kAtOnce = 4;
  for (int i = first; i < end; i += kAtOnce * step) {
    To values[kAtOnce] = {};
    ASHLAR_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < end) values[k] = load(i + k * step);
    }
    ASHLAR_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < end) store(i + k * step, values[k]);
    }
  }
}

inline constexpr int kTile = 32;     // rows and columns of a tile
inline constexpr int kTileRows = 8;  // rows of threads

// The first row and column of a tile. Tiles are numbered along the columns first.
struct TileOrigin {
  int64_t batch, row, column;
};
ASHLAR_HD int64_t TilesAcross(int64_t elements) { return (elements + kTile - 1) / kTile; }
ASHLAR_HD TileOrigin OriginOf(const TransposeParams& p, int64_t tile) {
  const int64_t across = TilesAcross(p.columns), down = TilesAcross(p.rows);
  return {tile / (across * down), tile / across % down * kTile, tile % across * kTile};
}

// Thread (x, y) of kTile x kTileRows reads its part of the tile; after all threads have, it writes
// its part.
template <typename From, typename To>
ASHLAR_HD void ReadTile(const TransposeParams& p, const TileOrigin& origin, int x, int y,
                        To (&tile)[kTile][kTile + 1]) {
  const From* const in = static_cast<const From*>(p.in) + origin.batch * p.rows * p.columns;
  if (origin.column + x >= p.columns) return;
  const int64_t rest = p.rows - origin.row;
  Move<To>(
      y, kTileRows, rest < kTile ? static_cast<int>(rest) : kTile,
      [&](int row) {
        return Converted<To>(in[(origin.row + row) * p.columns + origin.column + x]);
      },
      [&](int row, To value) { tile[row][x] = value; });
}
template <typename To>
ASHLAR_HD void WriteTile(const TransposeParams& p, const TileOrigin& origin, int x, int y,
                         const To (&tile)[kTile][kTile + 1]) {
  To* const out = static_cast<To*>(p.out) + origin.batch * p.rows * p.columns;
  for (int column = y; column < kTile; column += kTileRows) {
    if (origin.column + column >= p.columns || origin.row + x >= p.rows) continue;
    out[(origin.column + column) * p.rows + origin.row + x] = tile[x][column];
  }
}

// A matrix with few rows or columns would leave most of its tiles empty, so it is cut into strips
// across its long axis. A strip is contiguous on the side of the transpose whose inner axis is the
// short one.
inline constexpr int kNarrow = 16;
inline constexpr int kStrip = 256;  // elements of the long axis in a strip; also its threads
inline constexpr int kStripElements = kStrip * (kNarrow - 1);

ASHLAR_HD bool ByStrips(const TransposeParams& p) {
  return p.rows < kNarrow || p.columns < kNarrow;
}

struct Strip {
  bool few_rows;  // otherwise few columns
  int narrow;     // elements of the short axis
  int64_t length, first;
  int count;     // elements of the long axis from `first` on
  int64_t base;  // offset of the matrix
};
ASHLAR_HD int64_t StripsAcross(const TransposeParams& p) {
  return ((p.rows < kNarrow ? p.columns : p.rows) + kStrip - 1) / kStrip;
}
ASHLAR_HD Strip StripOf(const TransposeParams& p, int64_t number) {
  Strip strip;
  strip.few_rows = p.rows < kNarrow;
  strip.narrow = static_cast<int>(strip.few_rows ? p.rows : p.columns);
  strip.length = strip.few_rows ? p.columns : p.rows;
  const int64_t across = StripsAcross(p);
  strip.first = number % across * kStrip;
  const int64_t rest = strip.length - strip.first;
  strip.count = rest < kStrip ? static_cast<int>(rest) : kStrip;
  strip.base = number / across * p.rows * p.columns;
  return strip;
}

// Thread `thread` of kStrip reads its part of the strip; after all threads have, it writes its
// part. Adjacent threads access adjacent elements.
template <typename From, typename To>
ASHLAR_HD void ReadStrip(const TransposeParams& p, const Strip& strip, int thread,
                         To (&elements)[kStripElements]) {
  const From* const in = static_cast<const From*>(p.in) + strip.base;
  if (strip.few_rows) {
    const From* const column = in + strip.first + thread;
    Move<To>(
        0, 1, thread < strip.count ? strip.narrow : 0,
        [&](int i) { return Converted<To>(column[i * strip.length]); },
        [&](int i, To value) { elements[thread * strip.narrow + i] = value; });
  } else {
    const From* const first = in + strip.first * strip.narrow;
    Move<To>(
        thread, kStrip, strip.count * strip.narrow, [&](int i) { return Converted<To>(first[i]); },
        [&](int i, To value) { elements[i] = value; });
  }
}
template <typename To>
ASHLAR_HD void WriteStrip(const TransposeParams& p, const Strip& strip, int thread,
                          const To (&elements)[kStripElements]) {
  To* const out = static_cast<To*>(p.out) + strip.base;
  if (strip.few_rows) {
    for (int i = thread; i < strip.count * strip.narrow; i += kStrip) {
      out[strip.first * strip.narrow + i] = elements[i];
    }
  } else {
    if (thread >= strip.count) return;
    for (int i = 0; i < strip.narrow; ++i) {
      out[i * strip.length + strip.first + thread] = elements[thread * strip.narrow + i];
    }
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TRANSPOSE_CODE_H_

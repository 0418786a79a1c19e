#include "runtime/cpu/pooling_row.h"

#include <algorithm>
#include <limits>

#include "runtime/cpu/half_block.h"
#include "runtime/cpu/isa.h"

namespace ashlar::cpu {
namespace {

constexpr int kBlock = static_cast<int>(kChannelBlock);

struct Columns {
  int64_t begin, end;  // in the output
  int64_t count() const { return end - begin; }
};

// Returns the output columns whose windows lie entirely between the left and right border.
Columns InnerColumns(const WindowAxis& w) {
  int64_t begin = 0, end = w.output;
  while (begin < end && w.Origin(begin) < 0) ++begin;
  while (end > begin && w.Origin(end - 1) + w.window > w.input) --end;
  return {begin, end};
}

// Computes columns [begin, end) of the row, for any window; kLanes channels are adjacent.
template <int kLanes, bool kMax>
void PoolColumns(const float* plane, int64_t pitch, float* output, int64_t step,
                 const PoolingGeometry& geometry, const InsideTaps& rows, PoolingMode mode,
                 const Columns& part) {
  const WindowAxis& w = geometry.w;
  const float whole = static_cast<float>(geometry.h.window) * static_cast<float>(w.window);
  for (int64_t ow = part.begin; ow < part.end; ++ow) {
    const InsideTaps columns = w.Inside(ow);
    float total[kLanes];
    for (float& t : total) t = kMax ? -std::numeric_limits<float>::infinity() : 0;
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      const float* x = plane + y * pitch + columns.begin * kLanes;
      float row[kLanes] = {};
      for (int64_t i = columns.begin; i < columns.end;
           i += columns.step, x += columns.step * kLanes) {
#pragma omp simd
        for (int l = 0; l < kLanes; ++l) {
          if constexpr (kMax) {
            total[l] = x[l] > total[l] || x[l] != x[l] ? x[l] : total[l];
          } else {
            row[l] += x[l];
          }
        }
      }
      // Sums row by row, so that sums stay accurate in large windows.
      for (int l = 0; l < kLanes && !kMax; ++l) total[l] += row[l];
    }
    const float inside = static_cast<float>(rows.count() * columns.count());
    const float divisor = kMax ? 1 : mode == PoolingMode::kAverage ? whole : inside;
    for (int l = 0; l < kLanes; ++l) output[ow * step + l] = total[l] / divisor;
  }
}

template <int kLanes, bool kMax>
void PoolRow(const float* plane, int64_t pitch, float* output, int64_t step,
             const PoolingGeometry& geometry, int64_t oh, PoolingMode mode) {
  PoolColumns<kLanes, kMax>(plane, pitch, output, step, geometry, geometry.h.Inside(oh), mode,
                            {0, geometry.w.output});
}

template <bool kMax>
[[gnu::always_inline]] inline float Fold(float total, float x) {
  if constexpr (kMax) return x > total || x != x ? x : total;
  return total + x;
}

constexpr int64_t kMostColumns = 1024;  // columns of a plane folded together

// Computes totals[o] as the fold of window o's elements, which start at column o * stride.
template <bool kMax, int kStride>
[[gnu::always_inline]] inline void FoldWindows(const WindowAxis& w, const float* columns,
                                               int64_t count, float* totals) {
  const int64_t stride = kStride > 0 ? kStride : w.stride;
  for (int64_t tap = 0; tap < w.window; ++tap, columns += w.dilation) {
#pragma omp simd
    for (int64_t o = 0; o < count; ++o) {
      totals[o] = tap == 0 ? columns[o * stride] : Fold<kMax>(totals[o], columns[o * stride]);
    }
  }
}

// For a plane of one channel: folds the rows of a window column by column, then the columns.
template <bool kMax>
void PlaneRow(const float* plane, int64_t pitch, float* output, int64_t step,
              const PoolingGeometry& geometry, int64_t oh, PoolingMode mode) {
  const WindowAxis& w = geometry.w;
  const InsideTaps rows = geometry.h.Inside(oh);
  if (w.extent() > kMostColumns) {
    return PoolColumns<1, kMax>(plane, pitch, output, step, geometry, rows, mode, {0, w.output});
  }
  const float whole = static_cast<float>(geometry.h.window * w.window);
  const int64_t most = (kMostColumns - w.extent()) / w.stride + 1;  // windows processed together
  float columns[kMostColumns], totals[kMostColumns];
  for (int64_t begin = 0; begin < w.output; begin += most) {
    const int64_t count = std::min(most, w.output - begin), origin = w.Origin(begin);
    const int64_t length = (count - 1) * w.stride + w.extent();
    // Columns outside the image keep the neutral element.
    std::fill_n(columns, length, kMax ? -std::numeric_limits<float>::infinity() : 0.0f);
    const int64_t first = std::clamp<int64_t>(-origin, 0, length);
    const int64_t end = std::clamp<int64_t>(w.input - origin, first, length);
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      const float* const x = plane + y * pitch + origin;
#pragma omp simd
      for (int64_t i = first; i < end; ++i) columns[i] = Fold<kMax>(columns[i], x[i]);
    }
    if (w.stride == 1) {
      FoldWindows<kMax, 1>(w, columns, count, totals);
    } else if (w.stride == 2) {
      FoldWindows<kMax, 2>(w, columns, count, totals);
    } else {
      FoldWindows<kMax, 0>(w, columns, count, totals);
    }
    for (int64_t o = 0; o < count; ++o) {
      float divisor = 1;
      if (mode == PoolingMode::kAverage) divisor = whole;
      if (mode == PoolingMode::kAverageCountExcludePadding) {
        divisor = static_cast<float>(rows.count() * w.Inside(begin + o).count());
      }
      output[(begin + o) * step] = totals[o] / divisor;
    }
  }
}

// Half a block, in registers on any processor.
using HalfSums = float __attribute__((vector_size(kHalf * sizeof(float))));

// Finds the maximum of kRows pixels in a column, and their sum.
template <int kRows>
[[gnu::always_inline]] inline void MaxOfColumn(const float* x, int64_t pitch, HalfSums& best,
                                               HalfSums& sum) {
  best = sum = At(x);
#pragma GCC unroll 4
  for (int row = 1; row < kRows; ++row) {
    const HalfSums from = At(x + row * pitch);
    best = best > from ? best : from;
    sum += from;
  }
}

// Computes maxima of windows of kRows x kColumns pixels, for half a block. Columns shared by
// adjacent windows are read once. The maximum instruction drops NaN; the sums of everything read
// tell whether there may have been one. In that case returns true, and the results are invalid.
template <int kRows, int kColumns, int kStride>
[[gnu::always_inline]] inline bool MaxOfHalves(const float* x, int64_t pitch, float* output,
                                               int64_t step, int64_t count) {
  constexpr int kShared = kColumns > kStride ? kColumns - kStride : 0;
  HalfSums sums = {}, sum, columns[kColumns];
  for (int c = 0; c < kShared && count > 0; ++c) {
    MaxOfColumn<kRows>(x + c * kBlock, pitch, columns[c], sum);
    sums += sum;
  }
  for (int64_t o = 0; o < count; ++o, x += kStride * kBlock, output += step) {
    HalfSums of_window = {};
#pragma GCC unroll 4
    for (int c = kShared; c < kColumns; ++c) {
      MaxOfColumn<kRows>(x + c * kBlock, pitch, columns[c], sum);
      of_window += sum;
    }
    sums += of_window;
    HalfSums best = columns[0];
#pragma GCC unroll 4
    for (int c = 1; c < kColumns; ++c) best = best > columns[c] ? best : columns[c];
    At(output) = best;
#pragma GCC unroll 4
    for (int c = 0; c < kShared; ++c) columns[c] = columns[c + kStride];
  }
  bool any = false;
  for (int l = 0; l < kHalf; ++l) any = any || sums[l] != sums[l];
  return any;
}

template <int kRows, int kColumns, int kStride>
bool MaxOfSmallWindows(const float* x, int64_t pitch, float* output, int64_t step, int64_t count) {
  const auto half = [&](int first) __attribute__((always_inline)) {
    return MaxOfHalves<kRows, kColumns, kStride>(x + first, pitch, output + first, step, count);
  };
  return half(0) || half(kHalf);
}

// Computes maxima of blocks in windows of kWindow x kWindow. PoolColumns computes the windows that
// cross a border.
template <int kWindow, int kStride>
void MaxRow(const float* plane, int64_t pitch, float* output, int64_t step,
            const PoolingGeometry& geometry, int64_t oh, PoolingMode mode) {
  const WindowAxis& w = geometry.w;
  const InsideTaps rows = geometry.h.Inside(oh);
  Columns inner = InnerColumns(w);
  const float* const x = plane + rows.begin * pitch + w.Origin(inner.begin) * kBlock;
  float* const to = output + inner.begin * step;
  bool in_doubt = true;
  if (rows.count() == kWindow) {
    in_doubt = MaxOfSmallWindows<kWindow, kWindow, kStride>(x, pitch, to, step, inner.count());
  } else if (rows.count() == kWindow - 1) {
    in_doubt = MaxOfSmallWindows<kWindow - 1, kWindow, kStride>(x, pitch, to, step, inner.count());
  }
  if (in_doubt) inner = {w.output, w.output};
  PoolColumns<kBlock, true>(plane, pitch, output, step, geometry, rows, mode, {0, inner.begin});
  PoolColumns<kBlock, true>(plane, pitch, output, step, geometry, rows, mode,
                            {inner.end, w.output});
}

// Returns null if there is none for the window.
PoolRowFunction MaxRowFor(Isa isa, int64_t window, int64_t stride) {
  const auto is = [&](int64_t w, int64_t s) { return window == w && stride == s; };
  if (is(2, 2)) return Versions<MaxRow<2, 2>>::For(isa);
  if (is(3, 1)) return Versions<MaxRow<3, 1>>::For(isa);
  if (is(3, 2)) return Versions<MaxRow<3, 2>>::For(isa);
  return nullptr;
}

}  // namespace

PoolRowFunction PoolRowFor(Isa isa, bool blocked, const PoolingGeometry& geometry,
                           PoolingMode mode) {
  const bool max = mode == PoolingMode::kMax;
  if (!blocked) {
    return max ? Versions<PlaneRow<true>>::For(isa) : Versions<PlaneRow<false>>::For(isa);
  }
  const bool dilated = geometry.h.dilation > 1 || geometry.w.dilation > 1;
  if (max && geometry.h.window == geometry.w.window && !dilated) {
    const PoolRowFunction special = MaxRowFor(isa, geometry.w.window, geometry.w.stride);
    if (special != nullptr) return special;
  }
  return max ? Versions<PoolRow<kBlock, true>>::For(isa)
             : Versions<PoolRow<kBlock, false>>::For(isa);
}

}  // namespace ashlar::cpu

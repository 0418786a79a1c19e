// Pooling: one thread folds the windows of a pack of outputs, or a team of threads shares a large
// window. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_POOLING_CODE_H_
#define ASHLAR_RUNTIME_CUDA_POOLING_CODE_H_

#include "runtime/cuda/launch.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

enum class PoolKind : uint8_t { kMax, kAverage, kAverageInside };

struct PoolParams {
  Extents extents;
  bool channels_last = false;
  int pack = 1;  // adjacent channels per thread, in input and output
  // If by_team, the threads of a block share windows: kPoolDown threads each, or kPoolAcross
  // adjacent ones if taps_across. The latter suits row-major inputs, whose taps are adjacent.
  bool by_team = false;
  bool taps_across = false;
  Scalar dtype = Scalar::kFloat32;
  PoolKind kind = PoolKind::kMax;
  WindowSteps h, w;
  ImageSteps in_steps, out_steps;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const PoolParams& params, void* stream);

// Folds two values; propagates NaN.
ASHLAR_HD float PoolTwo(PoolKind kind, float a, float b) {
  if (kind == PoolKind::kMax) return b > a || b != b ? b : a;
  return a + b;
}

// The part of an output's window inside the image.
template <typename T>
struct PoolWindow {
  const T* first = nullptr;  // the first tap, in channel `c`
  int rows = 0, columns = 0;
  int64_t row_step = 0, column_step = 0;  // in elements
  int64_t out = 0;                        // the output's element
};

template <typename T, int kPack>
ASHLAR_HD PoolWindow<T> PoolWindowOf(const PoolParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, kPack, number);
  const Taps rows = InsideTaps(p.h, point.h), columns = InsideTaps(p.w, point.w);
  const int64_t y = point.h * p.h.stride - p.h.pad + rows.begin * p.h.dilation;
  const int64_t x = point.w * p.w.stride - p.w.pad + columns.begin * p.w.dilation;
  PoolWindow<T> window;
  window.first = static_cast<const T*>(p.in) + point.n * p.in_steps.n + point.c * p.in_steps.c +
                 y * p.in_steps.h + x * p.in_steps.w;
  window.rows = static_cast<int>(rows.end - rows.begin);
  window.columns = static_cast<int>(columns.end - columns.begin);
  window.row_step = p.in_steps.h * p.h.dilation;
  window.column_step = p.in_steps.w * p.w.dilation;
  window.out = point.n * p.out_steps.n + point.c * p.out_steps.c + point.h * p.out_steps.h +
               point.w * p.out_steps.w;
  return window;
}

// Folds the taps `rank`, `rank` + `members`, ... of a window, in row-major order.
template <typename T, int kPack>
ASHLAR_HD void PoolTaps(const PoolParams& p, const PoolWindow<T>& window, int rank, int members,
                        float (&value)[kPack]) {
  using Elements = Pack<T, kPack>;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) value[i] = p.kind == PoolKind::kMax ? -INFINITY : 0.0f;
  if (window.columns == 0) return;
  const int64_t taps = static_cast<int64_t>(window.rows) * window.columns;
  const int rows_on = members / window.columns, columns_on = members % window.columns;
  int row = rank / window.columns, column = rank % window.columns;
  constexpr int kAtOnce = 4;  // loads in flight
  for (int64_t tap = rank; tap < taps; tap += kAtOnce * members) {
    Elements elements[kAtOnce] = {};
    ASHLAR_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (tap + k * members >= taps) continue;
      elements[k] = *reinterpret_cast<const Elements*>(window.first + row * window.row_step +
                                                       column * window.column_step);
      row += rows_on;
      column += columns_on;
      if (column >= window.columns) {
        column -= window.columns;
        ++row;
      }
    }
    ASHLAR_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (tap + k * members >= taps) continue;
      ASHLAR_UNROLL
      for (int i = 0; i < kPack; ++i) {
        value[i] = PoolTwo(p.kind, value[i], ToFloat(elements[k].values[i]));
      }
    }
  }
}

template <typename T, int kPack>
ASHLAR_HD void PoolStore(const PoolParams& p, const PoolWindow<T>& window,
                         const float (&value)[kPack]) {
  const int64_t taps = p.kind == PoolKind::kAverage
                           ? p.h.window * p.w.window
                           : static_cast<int64_t>(window.rows) * window.columns;
  Pack<T, kPack> result;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) {
    const float pooled = p.kind == PoolKind::kMax ? value[i] : value[i] / static_cast<float>(taps);
    FromFloat(pooled, result.values[i]);
  }
  *reinterpret_cast<Pack<T, kPack>*>(static_cast<T*>(p.out) + window.out) = result;
}

template <typename T, int kPack>
ASHLAR_HD void PoolAt(const PoolParams& p, int64_t number) {
  const PoolWindow<T> window = PoolWindowOf<T, kPack>(p, number);
  float value[kPack];
  PoolTaps<T, kPack>(p, window, 0, 1, value);
  PoolStore<T, kPack>(p, window, value);
}

inline constexpr int kPoolAcross = 32, kPoolDown = 8;  // threads per team of a block
inline constexpr int kPoolThreads = kPoolAcross * kPoolDown;

// The role of a thread in such a block: member `rank` of `members`, whose thread numbers are `step`
// apart. Its team computes output `output` of the block's `outputs`.
struct PoolMember {
  int output, outputs;
  int rank, members, step;
};
ASHLAR_HD PoolMember PoolMemberOf(const PoolParams& p, int thread) {
  const int x = thread % kPoolAcross, y = thread / kPoolAcross;
  if (p.taps_across) return {y, kPoolDown, x, kPoolAcross, 1};
  return {x, kPoolAcross, y, kPoolDown, kPoolAcross};
}

// Folds the values of thread `thread` and of the member `distance` after it.
template <int kPack>
ASHLAR_HD void PoolJoin(const PoolParams& p, const PoolMember& member, int thread, int distance,
                        float (&parts)[kPack][kPoolThreads]) {
  if (member.rank >= distance) return;
  ASHLAR_UNROLL
  for (int i = 0; i < kPack; ++i) {
    parts[i][thread] = PoolTwo(p.kind, parts[i][thread], parts[i][thread + distance * member.step]);
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POOLING_CODE_H_

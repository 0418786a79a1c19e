// Gathers elements at indices, and scatters updates to them. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_INDEXING_CODE_H_
#define ASHLAR_RUNTIME_CUDA_INDEXING_CODE_H_

#include "opr/base/scatter_reduction.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

inline constexpr int64_t kOutside = -1;

// The runs of elements in x, as in opr/base/indexed_runs.h.
struct Runs {
  Extents walk;
  int64_t strides[kMaxRank] = {};
  int64_t tuples = 1;
  int depth = 0;  // indices in a tuple
  int64_t sizes[kMaxRank] = {}, steps[kMaxRank] = {};
  bool wide = false;  // indices are Int64
  const void* indices = nullptr;
};

// Returns the first element of run r, or kOutside if one of its indices is out of range.
ASHLAR_HD int64_t RunBegin(const Runs& p, int64_t r) {
  const int64_t tuple = r % p.tuples * p.depth;
  int64_t begin = 0;
  ASHLAR_UNROLL
  for (int i = 0; i < kMaxRank; ++i) {
    if (i >= p.depth) continue;
    const int64_t index = p.wide ? static_cast<const int64_t*>(p.indices)[tuple + i]
                                 : static_cast<const int32_t*>(p.indices)[tuple + i];
    if (index < -p.sizes[i] || index >= p.sizes[i]) return kOutside;
    begin += (index < 0 ? index + p.sizes[i] : index) * p.steps[i];
  }
  ASHLAR_UNROLL
  for (int axis = kMaxRank - 1; axis >= 0; --axis) {
    if (axis >= p.walk.rank) continue;
    const int64_t at = axis == 0 ? r : TakeCoordinate(p.walk, axis, r);
    begin += at * p.strides[axis];
  }
  return begin;
}

// The parameters of a gather, with one thread per element of `bytes` (1, 2, 4, 8, 16), the largest
// size that divides runs. Elements at an index out of range become zeros, because a run on a device
// cannot fail.
struct GatherParams {
  Extents extents;  // runs, and elements of a run
  Runs runs;
  int bytes = 4;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const GatherParams& params, void* stream);

template <typename Element>
ASHLAR_HD void GatherAt(const GatherParams& p, int64_t number) {
  int64_t run = number;
  const int64_t at = TakeCoordinate(p.extents, 1, run);
  const int64_t begin = RunBegin(p.runs, run);
  static_cast<Element*>(p.out)[number] =
      begin == kOutside ? Element{} : static_cast<const Element*>(p.in)[begin + at];
}

// The parameters of a scatter. Updates are applied in the order of their runs, as on the host. If
// several meet one element, one thread applies them all. Runs come in lines of `line` runs each,
// `inner` runs apart; runs of different lines never meet.
// If `in_order`, one thread takes a whole line. Otherwise each run has a thread. It also applies
// the later runs that meet the same element, and does nothing if an earlier run meets it.
// Updates at an index out of range are skipped.
struct ScatterParams {
  Extents extents;  // lines, runs of a line (1 if in order), elements of a run
  Runs runs;
  bool in_order = false;
  int64_t line = 1, inner = 1;
  int64_t length = 1;  // elements of a run
  ScatterReduction reduction = ScatterReduction::kNone;
  Scalar dtype = Scalar::kFloat32;
  int bytes = 4;  // of an element, if it is only copied
  const void* updates = nullptr;
  void* out = nullptr;  // already contains x
};
LaunchError Launch(const ScatterParams& params, void* stream);

template <typename Element>
ASHLAR_HD void ScatterOne(const ScatterParams& p, int64_t to, int64_t from) {
  if (p.reduction == ScatterReduction::kNone) {
    static_cast<Element*>(p.out)[to] = static_cast<const Element*>(p.updates)[from];
    return;
  }
  const auto update = [&](auto number) {
    using Number = decltype(number);
    StoreAs(p.dtype, p.out, to,
            Updated(p.reduction, LoadAs<Number>(p.dtype, p.out, to),
                    LoadAs<Number>(p.dtype, p.updates, from)));
  };
  HoldsIntegers(p.dtype) ? update(WrappingInt()) : update(double());
}

template <typename Element>
ASHLAR_HD void ScatterAt(const ScatterParams& p, int64_t number) {
  const int64_t at = TakeCoordinate(p.extents, 2, number);
  const int64_t first = TakeCoordinate(p.extents, 1, number);
  const int64_t line = number / p.inner * p.inner * p.line + number % p.inner;
  const auto begin_of = [&](int64_t k) { return RunBegin(p.runs, line + k * p.inner); };
  const auto update = [&](int64_t k, int64_t begin) {
    ScatterOne<Element>(p, begin + at, (line + k * p.inner) * p.length + at);
  };
  if (p.in_order) {
    for (int64_t k = 0; k < p.line; ++k) {
      const int64_t begin = begin_of(k);
      if (begin != kOutside) update(k, begin);
    }
    return;
  }
  const int64_t begin = begin_of(first);
  if (begin == kOutside) return;
  for (int64_t k = 0; k < first; ++k) {
    if (begin_of(k) == begin) return;
  }
  for (int64_t k = first; k < p.line; ++k) {
    if (begin_of(k) == begin) update(k, begin);
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_INDEXING_CODE_H_

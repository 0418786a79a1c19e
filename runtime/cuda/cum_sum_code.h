// CumSum: a thread a line of elements, or a team of threads, each of which takes a stretch of it
// and begins with the sum of the stretches before. Sums of floats are of double
// precision. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_

#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// Elements of a line are as many apart as there are lines inside.
struct CumSumParams {
  Extents extents;  // lines outside the axis, and inside
  int64_t length = 0;
  bool exclusive = false, reverse = false, teams = false;
  Scalar dtype = Scalar::kFloat32;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const CumSumParams& params, void* stream);

// Where the stretch of a thread of so many begins.
ASHLAR_HD int64_t StretchBegin(const CumSumParams& p, int64_t thread, int64_t threads) {
  return p.length * thread / threads;
}

// The sum of a line's elements from `begin` to before `end`, counted as they are summed, and of
// `sum`, with which it begins. Writes the sums on the way, which may lie where the elements do.
template <bool kWrites, typename Number>
ASHLAR_HD Number SumStretch(const CumSumParams& p, int64_t line, int64_t begin, int64_t end,
                            Number sum) {
  const int64_t step = p.extents.sizes[1];
  const int64_t inner = TakeCoordinate(p.extents, 1, line);
  const int64_t first = line * p.length * step + inner;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = first + (p.reverse ? p.length - 1 - i : i) * step;
    const Number before = sum;
    sum += LoadAs<Number>(p.dtype, p.in, at);
    if (kWrites) StoreAs(p.dtype, p.out, at, p.exclusive ? before : sum);
  }
  return sum;
}

template <typename Number>
ASHLAR_HD void CumSumAt(const CumSumParams& p, int64_t line) {
  SumStretch<true>(p, line, 0, p.length, Number(0));
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_

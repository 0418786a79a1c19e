// CumSum. Each line of elements belongs to one thread, or to a team: then each thread takes a range
// of it and starts with the sum of the ranges before. Sums of floats use double precision. Compiles
// for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_
#define ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_

#include <cstdint>

#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// The step between elements of a line is the number of inner lines.
struct CumSumParams {
  Extents extents;  // lines outside and inside the axis
  int64_t length = 0;
  bool exclusive = false, reverse = false, teams = false;
  Scalar dtype = Scalar::kFloat32;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const CumSumParams& params, void* stream);

// Returns the first element of the thread's range, out of `threads` ranges.
ASHLAR_HD int64_t RangeBegin(const CumSumParams& p, int64_t thread, int64_t threads) {
  return p.length * thread / threads;
}

// Returns `sum` plus the sum of a line's elements [begin, end), counted in the direction of
// summation. If kWrites, it writes each partial sum; the output may share the input's address.
template <bool kWrites, typename Number>
ASHLAR_HD Number SumRange(const CumSumParams& p, int64_t line, int64_t begin, int64_t end,
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
  SumRange<true>(p, line, 0, p.length, Number(0));
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CUM_SUM_CODE_H_

// Loops shared among the threads of a session.
#ifndef ASHLAR_RUNTIME_CPU_PARALLEL_H_
#define ASHLAR_RUNTIME_CPU_PARALLEL_H_

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace ashlar {

// Elements below which another thread is not worth waking.
inline constexpr int64_t kElementsPerThread = 16384;

// Calls body(begin, end) for ranges that cover [0, count), at most one a thread. Ranges begin at
// multiples of `grain`, and none but the last is smaller.
template <typename Body>
void ParallelFor(int threads, int64_t count, int64_t grain, const Body& body) {
  const int64_t grains = (count + grain - 1) / grain;
  if (threads <= 1 || grains <= 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  // The team always has the session's size: the OpenMP runtime allocates when it changes.
#pragma omp parallel num_threads(threads)
  {
    const int64_t team = omp_get_num_threads(), self = omp_get_thread_num();
    const int64_t begin = grains * self / team * grain;
    const int64_t end = std::min(grains * (self + 1) / team * grain, count);
    if (begin < end) body(begin, end);
  }
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_CPU_PARALLEL_H_

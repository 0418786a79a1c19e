// Loops that the threads of a session share. Results must not depend on how a loop is cut into
// pieces, nor on which thread runs a piece.
#ifndef ASHLAR_RUNTIME_CPU_PARALLEL_H_
#define ASHLAR_RUNTIME_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/thread_pool.h"

namespace ashlar::cpu {

// With fewer elements, another thread is not worth waking.
inline constexpr int64_t kElementsPerThread = 16384;

// The number of ranges that ParallelFor makes per thread.
inline constexpr int64_t kRangesPerThread = 4;

// Calls body(i, thread) for each i in [0, count), whenever a thread is free. `thread` is below
// `threads`; no two running calls share it, so it can select memory of the thread's own. An
// exception in `body` ends the program. Meant for pieces of at least ten microseconds or so.
template <typename Body>
void ParallelPieces(int threads, int64_t count, const Body& body) noexcept {
  if (threads <= 1 || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  ThreadPool::Shared().Run(
      threads, count,
      [](const void* context, int64_t i, int thread) noexcept {
        (*static_cast<const Body*>(context))(i, thread);
      },
      &body);
}

// Like ParallelFor, but also passes the thread, as in ParallelPieces: body(begin, end, thread).
template <typename Body>
void ParallelRanges(int threads, int64_t count, int64_t grain, const Body& body) noexcept {
  const int64_t grains = (count + grain - 1) / grain;
  if (threads <= 1 || grains <= 1) {
    if (count > 0) body(int64_t{0}, count, 0);
    return;
  }
  const int64_t ranges = std::min(grains, kRangesPerThread * threads);
  ParallelPieces(threads, ranges, [&](int64_t range, int thread) {
    const int64_t begin = grains * range / ranges * grain;
    const int64_t end = std::min(grains * (range + 1) / ranges * grain, count);
    body(begin, end, thread);
  });
}

// Calls body(begin, end) for ranges that cover [0, count). Ranges begin at multiples of `grain`;
// only the last may be smaller. Each thread gets a few ranges, so that if the system suspends one
// thread, the others take its share.
template <typename Body>
void ParallelFor(int threads, int64_t count, int64_t grain, const Body& body) noexcept {
  ParallelRanges(threads, count, grain,
                 [&](int64_t begin, int64_t end, int /*thread*/) { body(begin, end); });
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_PARALLEL_H_

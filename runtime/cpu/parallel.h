// Loops shared among the threads of a session. Their results must not depend on how they are
// cut into pieces, nor on who works on which.
#ifndef ASHLAR_RUNTIME_CPU_PARALLEL_H_
#define ASHLAR_RUNTIME_CPU_PARALLEL_H_

#include <algorithm>
#include <cstdint>

#include "runtime/cpu/thread_pool.h"

namespace ashlar::cpu {

// Elements below which another thread is not worth waking.
inline constexpr int64_t kElementsPerThread = 16384;

// Ranges that ParallelFor makes for each thread.
inline constexpr int64_t kRangesPerThread = 4;

// Calls body(i, thread) for each i in [0, count), each handed out when a thread is free for it;
// `thread` is below `threads`, and no two threads have the same at a time: for memory that each
// has for itself. An exception of `body` ends the program. For pieces of at least some ten
// microseconds.
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

// As ParallelFor, with the thread, as ParallelPieces has it: body(begin, end, thread).
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

// Calls body(begin, end) for ranges that cover [0, count). Ranges begin at multiples of `grain`,
// and none but the last is smaller. There are a few for each thread, so that one which the system
// holds up leaves its share to the others.
template <typename Body>
void ParallelFor(int threads, int64_t count, int64_t grain, const Body& body) noexcept {
  ParallelRanges(threads, count, grain,
                 [&](int64_t begin, int64_t end, int /*thread*/) { body(begin, end); });
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_PARALLEL_H_

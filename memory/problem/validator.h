// Checks whether a plan is valid, by a sweep over the steps that shares no code with planners.
#ifndef ASHLAR_MEMORY_PROBLEM_VALIDATOR_H_
#define ASHLAR_MEMORY_PROBLEM_VALIDATOR_H_

#include <string>

#include "memory/problem/buffer.h"

namespace ashlar::memory {

enum class Fault {
  kNone,
  kWrongCount,    // not one offset for each buffer
  kOutOfRange,    // an offset is negative or its end exceeds 2^62
  kMisaligned,    // an offset is not a multiple of the buffer's alignment
  kNotAtFixed,    // a buffer with a fixed offset lies elsewhere
  kBrokenInside,  // an inside relation does not hold
  kOverlap,       // two unrelated buffers share bytes at a step
  kWrongArena,    // the arena is not the highest end of a buffer
};

struct Verdict {
  Fault fault = Fault::kNone;
  int first = -1;   // index of the offending buffer, or -1
  int second = -1;  // index of the other one of a pair, or -1
  std::string message;

  bool ok() const { return fault == Fault::kNone; }
};

// Checks a plan against a problem that ValidateProblem accepts. A sweep over the steps: O(n log n),
// plus time proportional to the shared pieces if buffers share. Shares no code with any planner.
Verdict ValidatePlan(const Problem& problem, const Plan& plan);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_VALIDATOR_H_

// Whether a plan is valid, by a sweep over the steps that shares no code with planners.
#ifndef ASHLAR_MEMORY_VALIDATOR_H_
#define ASHLAR_MEMORY_VALIDATOR_H_

#include <string>

#include "memory/buffer.h"

namespace ashlar::memory {

enum class Fault {
  kNone,
  kWrongCount,    // Not one offset for each buffer.
  kOutOfRange,    // An offset is negative or its end exceeds 2^62.
  kMisaligned,    // An offset is not a multiple of the buffer's alignment.
  kNotAtFixed,    // A buffer with a fixed offset lies elsewhere.
  kBrokenInside,  // An inside relation does not hold.
  kOverlap,       // Two unrelated buffers share bytes at a step.
  kWrongArena,    // The arena is not the highest end of a buffer.
};

struct Verdict {
  Fault fault = Fault::kNone;
  int first = -1;   // Index of the offending buffer, or -1.
  int second = -1;  // Index of the other one of a pair, or -1.
  std::string message;

  bool ok() const { return fault == Fault::kNone; }
};

// Checks a plan against a problem that ValidateProblem accepts. A sweep over
// the steps, O(n log n) and in proportion to the shared pieces where buffers
// share; shares no code with any planner.
Verdict ValidatePlan(const Problem& problem, const Plan& plan);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_VALIDATOR_H_

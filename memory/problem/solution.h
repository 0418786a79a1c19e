// The limits of a planner's search, and its result.
#ifndef ASHLAR_MEMORY_PROBLEM_SOLUTION_H_
#define ASHLAR_MEMORY_PROBLEM_SOLUTION_H_

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "memory/problem/work.h"

namespace ashlar::memory {

// Limits of a planner's search. All of them are counted, not timed, so the plan is the same on
// every machine.
struct SearchLimits {
  int64_t work = 250 * kWorkPerMillisecond;
  // Choices that exact search may try, and placements of dives.
  int64_t nodes = INT64_MAX;
  // Bytes: stop at a plan that fits. Empty: as small as possible.
  std::optional<int64_t> capacity = std::nullopt;
  // Ends planning with Cancelled; never changes a returned plan.
  std::stop_token stop = {};
};

// The result of a planner.
struct Solution {
  std::vector<int64_t> bases;  // bytes, one for each group of the instance
  int64_t arena = 0;           // bytes: the highest end of a group
  std::string planner;         // the one that found it
  int64_t proven_bound = 0;    // as in Plan
  int64_t work = 0;            // spent on it
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_SOLUTION_H_

// Compares several planners on one problem.
#ifndef ASHLAR_TOOLS_REPORT_PLANNER_COMPARISON_H_
#define ASHLAR_TOOLS_REPORT_PLANNER_COMPARISON_H_

#include <string>

#include "memory/planner.h"
#include "memory/problem/solution.h"
#include "tools/console.h"

namespace ashlar {

// Prints a table with a row for each of `planners`, names separated by commas. Returns the same as
// JSON: [{planner, arena_bytes, ...}], with {planner, error} for a planner that refuses the
// problem.
absl::StatusOr<Json> ComparePlanners(const memory::Problem& problem, const std::string& planners,
                                     const memory::SearchLimits& limits, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_PLANNER_COMPARISON_H_

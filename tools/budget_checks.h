// Whether a plan fits the limits of the command line.
#ifndef ASHLAR_TOOLS_BUDGET_CHECKS_H_
#define ASHLAR_TOOLS_BUDGET_CHECKS_H_

#include <string>

#include "tools/model.h"

namespace ashlar {

// Errors end in ExitCode::kDoesNotFit, and name the least that would do: of --memory-budget, and of
// --total-budget. `path` is the model's.
absl::Status CheckBudget(const PlannedGraph& planned, const std::string& path);
absl::Status CheckTotal(const PlannedModel& made, const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_BUDGET_CHECKS_H_

// Checks a plan against the limits of the command line.
#ifndef ASHLAR_TOOLS_BUDGET_CHECKS_H_
#define ASHLAR_TOOLS_BUDGET_CHECKS_H_

#include <string>

#include "tools/model.h"

namespace ashlar {

// Check --memory-budget and --total-budget. Errors have ExitCode::kDoesNotFit, and name the
// smallest sufficient value. `path` is the model's.
absl::Status CheckBudget(const PlannedGraph& planned, const std::string& path);
absl::Status CheckTotal(const PlannedModel& made, const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_BUDGET_CHECKS_H_

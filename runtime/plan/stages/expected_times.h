// Expected times of a plan's operators, each by the kernel that was chosen.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_EXPECTED_TIMES_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_EXPECTED_TIMES_H_

#include <vector>

#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Returns milliseconds by node; 0 if no kernel runs.
std::vector<double> ExpectedTimes(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_EXPECTED_TIMES_H_

// Plans and runs a graph that was read from a file.
#ifndef ASHLAR_TESTS_FUZZ_PLAN_H_
#define ASHLAR_TESTS_FUZZ_PLAN_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar::testing {

// Plans the graph for the CPU, and runs it if it is small. Ends the process if a plan is not valid.
void PlanWhatWasRead(absl::StatusOr<Graph> graph);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_PLAN_H_

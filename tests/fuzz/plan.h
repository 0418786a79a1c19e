// What is done with a graph that was read from a file.
#ifndef ASHLAR_TESTS_FUZZ_PLAN_H_
#define ASHLAR_TESTS_FUZZ_PLAN_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar::testing {

// Plans it for the CPU; small ones run, too. Ends the process where a plan is no valid one.
void PlanWhatWasRead(absl::StatusOr<Graph> graph);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_FUZZ_PLAN_H_

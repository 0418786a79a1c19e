// Chrome's trace format (chrome://tracing, Perfetto): one complete event per operator, and a
// counter of live arena bytes.
#ifndef ASHLAR_SERIALIZATION_TRACE_H_
#define ASHLAR_SERIALIZATION_TRACE_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/session/profiler.h"

namespace ashlar {

// `steps` are by position in the order. ts and dur are microseconds with fractions. Each stream has
// one tid; its events do not overlap.
absl::StatusOr<nlohmann::ordered_json> ChromeTrace(const PlannedGraph& planned,
                                                   const std::vector<StepTime>& steps);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TRACE_H_

// Writes the profile dump: graph, memory and times of one model in MegEngine's JSON schema, plus
// one more top-level key, `memory_report`.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_PROFILE_DUMP_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_PROFILE_DUMP_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/measure/measure.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/session/profiler.h"

namespace ashlar {

// The data of one profiled run.
struct ProfileRecord {
  std::vector<StepTime> steps;  // by position in the order, in seconds from one origin
  // The times at which the host submitted each step, if the device has a clock of its own.
  std::vector<StepTime> host_steps;
  const void* arena = nullptr;  // addresses of the session's arena, weights and states: dev_ptr
  const void* weights = nullptr;
  const void* state = nullptr;
  std::optional<Measurement> measured;  // for memory_report's "actual"
};

// Returns {"graph_exec": {...}, "profiler": {...}, "memory_report": {...}}.
nlohmann::ordered_json ProfileDump(const PlannedGraph& planned, const ProfileRecord& record);

// Returns the value of "graph_exec" alone: MegEngine's graph.json.
nlohmann::ordered_json GraphDump(const PlannedGraph& planned, const ProfileRecord& record);

// Returns the peak, lower bound and bottleneck, and each chunk's static offset and lifetime,
// planned and actual.
nlohmann::ordered_json MemoryReport(const PlannedGraph& planned,
                                    const std::optional<Measurement>& measured);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_PROFILE_DUMP_H_

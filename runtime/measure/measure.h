// Measures actual memory, to compare it with the plan.
//
// - arena: mapped larger than planned and filled with a pattern; the highest byte that runs change
// - weights: the same, for packing; if a file has them packed, nothing writes them
// - state: mapped larger than planned, with a pattern after the plan's bytes
// - output: the caller's tensor is filled with a pattern, and ends at an inaccessible page
// - input: the caller's tensor is read-only, and ends at such a page.
//
// Patterns are applied twice, the second complementary, so that no changed byte is missed by
// chance.
#ifndef ASHLAR_RUNTIME_MEASURE_MEASURE_H_
#define ASHLAR_RUNTIME_MEASURE_MEASURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/stages/memory_need.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"

namespace ashlar {

struct PoolMeasurement {
  int64_t planned_bytes = 0;
  int64_t actual_bytes = 0;
  std::string method;
};

struct Measurement {
  // The plan's target, with the tiles that were found for a budget and without the budget: with
  // `target` and `planning` the plan can be reproduced, and with `weights_budget` its window.
  PlanTarget target;
  PlanningOptions planning;
  std::optional<int64_t> weights_budget;
  RecordUse record_use;
  PoolMeasurement arena, weights, state, input, output;
  HeapCounts heap;         // in the second and later runs together
  int runs_counted = 0;    // number of these runs
  int64_t rss_before = 0;  // resident bytes before the model was compiled
  int64_t rss_after = 0;   // after load and runs
  int64_t rss_peak = 0;
  MemoryNeed need;                    // planned; `rss_peak` is the actual peak
  int64_t addresses = 0;              // AddressesNeeded
  InputTensors inputs;                // in their original form
  std::vector<std::string> overruns;  // operators that wrote beyond one of their chunks
  // The device's memory by its own numbers, if it is not the host's: the bytes that were requested,
  // the decrease of free memory for them, and the bytes that the device's libraries took in
  // addition.
  struct DeviceBytes {
    int64_t asked = 0, taken = 0, libraries = 0;
  };
  std::optional<DeviceBytes> device;
  bool ok = false;  // no pool exceeds its plan, no overrun, and no heap call by Ashlar's own code
};

struct MeasureOptions {
  int runs = 3;  // at least 2
  // An access outside a guarded tensor ends the process with this code and a message.
  int exit_code_on_fault = 4;
  DoneWith done_with = nullptr;  // Executable::Compile
};

// Compiles and runs the graph while measuring; an excess alone is not an error (see `ok`). Does not
// search for overruns: CheckGuards does. `inputs` are in memory once while it measures: pass them
// by move.
absl::StatusOr<Measurement> Measure(Graph graph, const PlanRequest& request, InputTensors inputs,
                                    const MeasureOptions& measure = {});

// A plan to measure: exactly one is set.
struct PlanToMeasure {
  std::unique_ptr<PlannedGraph> planned;     // its weights are packed while measuring
  std::shared_ptr<const Executable> packed;  // its weights are used directly from a file
};

// The same for the plan that `make_plan` makes.
absl::StatusOr<Measurement> MeasurePlan(
    absl::FunctionRef<absl::StatusOr<PlanToMeasure>()> make_plan, const PlanRequest& request,
    InputTensors inputs, const MeasureOptions& measure = {});

// Plans with guard bytes after every chunk and runs once. Returns the operators after whose step a
// guard had changed ("conv[3] (ConvBiasForward, 17) wrote behind the chunk of conv[3]").
absl::StatusOr<std::vector<std::string>> CheckGuards(Graph graph, PlanRequest request,
                                                     const InputTensors& inputs,
                                                     const DoneWith& done_with = nullptr);
// The same for a plan that was made with them.
inline constexpr int64_t kGuardBytes = 64;  // DebugOptions::guard_bytes
absl::StatusOr<std::vector<std::string>> CheckGuards(
    const std::shared_ptr<const Executable>& executable, const InputTensors& inputs);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_MEASURE_H_

// Planned against actual memory, by measurement.
//
// - arena: mapped larger than planned and filled with a pattern; the highest byte that runs change
// - weights: the same, for packing
// - state: mapped larger than planned, with a pattern behind the plan's bytes
// - output: the caller's tensor holds a pattern, and ends at a page that nobody may touch
// - input: the caller's tensor is read-only, and ends at such a page
//
// Patterns are applied twice, complementary, so that no byte can hide by chance.
#ifndef ASHLAR_RUNTIME_MEASURE_MEASURE_H_
#define ASHLAR_RUNTIME_MEASURE_MEASURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/memory_need.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"

namespace ashlar {

struct PoolMeasurement {
  int64_t planned_bytes = 0;
  int64_t actual_bytes = 0;
  std::string method;
};

struct Measurement {
  // Of the plan, with the tiles that were found for a budget and without the budget: with these it
  // can be made again.
  Wishes wishes;
  Means means;
  RecordUse record_use;
  PoolMeasurement arena, weights, state, input, output;
  HeapCounts heap;         // of the second and later runs together
  int runs_counted = 0;    // how many these were
  int64_t rss_before = 0;  // resident bytes before the model was compiled
  int64_t rss_after = 0;   // after load and runs
  int64_t rss_peak = 0;
  MemoryNeed need;                    // planned, of which `rss_peak` is the actual
  int64_t addresses = 0;              // AddressesNeeded
  InputTensors inputs;                // as they were given
  std::vector<std::string> overruns;  // operators that wrote behind one of their chunks
  // The device's memory by its own figures, where it is not the host's: what was asked for here, by
  // how much the free memory shrank for it, and what the device's libraries took besides.
  struct DeviceBytes {
    int64_t asked = 0, taken = 0, libraries = 0;
  };
  std::optional<DeviceBytes> device;
  bool ok = false;  // no pool's actual exceeds its plan, no overrun, no heap call of our own
};

struct MeasureOptions {
  int runs = 3;  // at least 2
  // An access outside of a guarded tensor ends the process with this code and a message.
  int exit_code_on_fault = 4;
  DoneWith done_with = nullptr;  // Executable::Compile
};

// Compiles and runs the graph with measuring means; never fails for a mere excess (see `ok`).
// Overruns are not looked for here: CheckGuards does. `inputs` are in memory once while it
// measures: pass them by move.
absl::StatusOr<Measurement> Measure(Graph graph, const PlanRequest& request, InputTensors inputs,
                                    const MeasureOptions& measure = {});

// Plans with guard bytes behind every chunk, runs once and names the operators after whose step a
// guard was changed ("conv[3] (ConvBiasForward, 17) wrote behind the chunk of conv[3]").
absl::StatusOr<std::vector<std::string>> CheckGuards(Graph graph, PlanRequest request,
                                                     const InputTensors& inputs,
                                                     const DoneWith& done_with = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_MEASURE_H_

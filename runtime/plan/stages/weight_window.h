// The window of streamed weights: memory smaller than all weights, through which a run reads them
// from a packed file. A weight is a buffer that lives from its read to its last use. Some weights
// are resident: they are read once, and live always.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_WINDOW_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_WINDOW_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/planner.h"
#include "runtime/plan/request/kernel_record.h"

namespace ashlar {

struct WindowProblem {
  struct Weight {
    int64_t bytes = 0;
    int first = 0, last = 0;  // the steps of its first and last use
  };
  std::vector<Weight> weights;
  std::vector<double> step_ms;  // expected, by step
  int64_t alignment = 1;        // of each weight, bytes
  DiskSpeed disk;
  memory::PlanOptions planner;
};

struct WeightWindow {
  // A read in each run.
  struct Read {
    int weight = 0;
    int after = -1;  // the last step that uses bytes which the read overwrites; -1: none
  };

  int64_t bytes = 0;             // of the window
  std::vector<int64_t> offsets;  // in the window, by weight
  std::vector<int> resident;     // weights that are read once
  std::vector<Read> reads;       // of all others, in order of their first uses
  std::vector<int> needed;       // by step: how many of the reads it needs to be complete
  int64_t resident_bytes = 0;
  int64_t read_bytes = 0;  // in each run
  double expected_ms = 0;  // of a run
  double waiting_ms = 0;   // of these: steps wait for their weights
};

// Plans a window of at most `budget` bytes in which weights are read ahead, for the least expected
// time of a run, then for the fewest bytes read. Returns nothing if none fits.
std::optional<WeightWindow> PlanReadAhead(const WindowProblem& problem, int64_t budget);

// The least window: each weight is read when its first step is due.
struct LeastWindow {
  WeightWindow window;
  int step = 0;  // the step that needs so many bytes
};
// Plans the least window, by a search that takes megabytes.
absl::StatusOr<LeastWindow> PlanLeastWindow(const WindowProblem& problem);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_WEIGHT_WINDOW_H_

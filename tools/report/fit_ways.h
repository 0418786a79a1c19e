// The ways in which a model may fit into the RAM and flash of a device.
//
// A lever saves memory at a cost: a donated input is overwritten, small weights have slower
// kernels, tiles take time, streamed weights are read again in each run, and fewer bits lose
// accuracy. A way is a set of levers. Ways without tiles are planned for every set. Streamed
// weights are planned if RAM holds the weights, and no way of the same number type fits without
// them. Tiles, whose search takes long, are planned only if no such way fits, and no type with
// fewer losses fits at all.
#ifndef ASHLAR_TOOLS_REPORT_FIT_WAYS_H_
#define ASHLAR_TOOLS_REPORT_FIT_WAYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "tools/console.h"
#include "tools/json_output.h"
#include "tools/model.h"

namespace ashlar {

struct FitLimits {
  int64_t ram = 0;                    // bytes of arena, inputs and outputs; weights too, if not:
  std::optional<int64_t> flash = {};  // bytes of weights, which are read in place
};

// The types of a model's tensors, by rising loss of accuracy.
enum class NumberType { kAsTheyAre, kFloat16, kBFloat16, kEightBits };

struct FitWay {
  NumberType type = NumberType::kAsTheyAre;
  bool donated_input = false;
  bool small_weights = false;
  bool tiled = false;
  bool streamed = false;     // weights through a window, from a file that holds them packed
  std::string refused = {};  // the reason why there is no such plan; then nothing below is set

  int64_t window_budget = 0;  // --weights-budget of a streamed way
  // Bytes. Of streamed weights, `weights` is the window, and `read` the bytes that a run reads.
  int64_t arena = 0, inputs = 0, outputs = 0, weights = 0, read = 0;
  double predicted_ms = 0;
  double extra_flops_ratio = 0;
  std::string tiles = {};                   // in the format of --tile
  std::vector<std::string> options = {};    // of the commands that plan and run, for this way
  std::vector<std::string> execution = {};  // of all its commands: the target's device and threads
  // The largest error of an output, relative to the largest element, against the model as it is.
  // Nothing if it was not measured.
  std::optional<double> loss = {};
  bool fits = false;

  int64_t ram(const FitLimits& limits) const;
  int64_t flash(const FitLimits& limits) const { return limits.flash ? weights : 0; }
};

// The speed at which streamed weights are read: as `tune` measured it, or an assumption.
struct FitDisk {
  DiskSpeed speed;
  bool measured = false;
};

// Plans the ways of a model on the device, processor and threads of `target`, and measures the loss
// of 16 bits by one run on random inputs if a way needs it. Errors are of planning the model as it
// is.
absl::StatusOr<std::vector<FitWay>> FindFitWays(const Model& model, const FitLimits& limits,
                                                const PlanTarget& target, const FitDisk& disk,
                                                Console& console);

// Returns the index of the cheapest way that fits: the least loss, then the least expected time,
// then the fewest levers. -1 if none fits.
int CheapestFit(const std::vector<FitWay>& ways);

// Returns the commands that use a way, for a shell. `model` has the model's path and the options
// that open it (ModelArguments).
std::string FitCommandText(const FitWay& way, const std::vector<std::string>& model);

// Says how fast streamed weights are read, and whether that was measured; empty without such a way.
std::string FitDiskText(const std::vector<FitWay>& ways, const FitDisk& disk);

std::string FitTable(const std::vector<FitWay>& ways, const FitLimits& limits);
Json FitDocument(const FitWay& way, const FitLimits& limits, const std::vector<std::string>& model);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_FIT_WAYS_H_

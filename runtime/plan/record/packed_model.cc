#include "runtime/plan/record/packed_model.h"

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/plan/record/packing_options.h"

namespace ashlar {

std::vector<PackedWeight> PackedWeightsOf(const WeightsPlan& plan) {
  std::vector<PackedWeight> weights;
  for (const WeightEntry& entry : plan.entries) {
    weights.push_back({entry.var, entry.key, entry.offset, entry.bytes});
  }
  return weights;
}

absl::Status CheckPackedFor(const PackedModel& packed, const Device& device,
                            const PlanTarget& target, const PlanningOptions& planning) {
  if (!device.is_host()) {
    return absl::FailedPreconditionError(
        absl::StrCat("packed weights are for the CPU, not for ", device.comp_node().ToString()));
  }
  const Processor processor = target.ProcessorOn(device);
  if (packed.processor != Name(processor.isa)) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed for '", packed.processor.substr(0, 64),
                     "', the plan is for '", processor.ToString(), "'"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const PlanRequest options, ParsePackingOptions(packed.options));
  PlanRequest asked = {target, planning, {}};
  if (planning.recorded != nullptr && options.target.tiles.empty()) {
    asked.target.tiles = {};
    asked.planning.kernels.low_workspace = options.planning.kernels.low_workspace;
  }
  ASHLAR_RETURN_IF_ERROR(CheckSamePacking(options, asked));
  if (target.budget) {
    return absl::FailedPreconditionError("weights are packed in tiles; a budget asks for a search");
  }
  return absl::OkStatus();
}

}  // namespace ashlar

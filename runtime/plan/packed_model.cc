#include "runtime/plan/packed_model.h"

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

// Raised where kernels change what they pack under a key that stays.
constexpr int kLayouts = 2;

}  // namespace

std::string PackingOptions(const Wishes& wishes, const Means& means) {
  const bool single = wishes.precision == DType::kFloat32;
  return absl::StrCat("layouts ", kLayouts, ", passes ", means.passes,
                      means.kernels.exact ? ", exact" : "",
                      means.kernels.least_memory ? ", least memory" : "",
                      means.inplace ? "" : ", no views", wishes.tiles.empty() ? "" : ", in parts",
                      single ? "" : ", ", single ? "" : Name(wishes.precision));
}

std::vector<PackedWeight> PackedWeightsOf(const WeightsPlan& plan) {
  std::vector<PackedWeight> weights;
  for (const WeightEntry& entry : plan.entries) {
    weights.push_back({entry.var, entry.key, entry.offset, entry.bytes});
  }
  return weights;
}

absl::Status CheckPackedFor(const PackedModel& packed, const Device& device, const Wishes& wishes,
                            const Means& means) {
  if (!device.is_host()) {
    return absl::FailedPreconditionError(
        absl::StrCat("packed weights are for the CPU, not for ", device.comp_node().ToString()));
  }
  const Processor processor = wishes.processor.value_or(device.processor());
  if (packed.processor != Name(processor.isa)) {
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed for '", packed.processor.substr(0, 64),
                     "', the plan is for '", processor.ToString(), "'"));
  }
  if (const std::string expected = PackingOptions(wishes, means); packed.options != expected) {
    return absl::FailedPreconditionError(absl::StrCat("weights are packed under '",
                                                      packed.options.substr(0, 200),
                                                      "', asked for is '", expected, "'"));
  }
  if (wishes.tiled()) {
    return absl::FailedPreconditionError("weights are packed for a graph that is not in parts");
  }
  return absl::OkStatus();
}

}  // namespace ashlar

// Opens the model files named by options; errors have exit codes, notes go to the console.
#ifndef ASHLAR_TOOLS_MODEL_H_
#define ASHLAR_TOOLS_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "library/open_model.h"
#include "library/plan_model.h"
#include "runtime/plan/stages/memory_need.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// Returns the source of a model; "-" is standard input. Reads each pipe once and remembers it.
absl::StatusOr<ModelSource> SourceOf(const std::string& path, Console& console);

// Calls OpenModel. A faulty or unsupported file is kRejectedInput; shapes and names that do not
// match the model are kUsage.
absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console,
                                WeightsUse use = WeightsUse::kAsItRuns);

// Annotates an error from reading a plan file, or from planning with it: kUsage if the plan does
// not suit; kRejectedInput if it is no plan, or was changed.
absl::Status PlanFileError(const absl::Status& status);

absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request, Console& console);
absl::StatusOr<PackedModel> PackModel(Model& model, const PlanRequest& request, Console& console);

// Returns the memory of the process that runs the model.
MemoryNeed NeedOf(const PlannedModel& model);
int64_t AddressesNeeded(const PlannedModel& model);

// Returns the model ready to run, with packed weights. Pages of the file that are no longer needed
// are released. ResourceExhausted if there is too little address space, or if planning exceeded a
// total budget.
absl::StatusOr<std::shared_ptr<const Executable>> CompileModel(Model model,
                                                               const PlanRequest& request,
                                                               Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MODEL_H_

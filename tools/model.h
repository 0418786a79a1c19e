// Model files as options name them; errors with exit codes, notes on the console.
#ifndef ASHLAR_TOOLS_MODEL_H_
#define ASHLAR_TOOLS_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "library/model.h"
#include "runtime/plan/memory_need.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// OpenModel. A wrong or unsupported file is kRejectedInput; shapes and names
// that do not go with the model are kUsage.
absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console,
                                WeightsUse use = WeightsUse::kAsItRuns);

// An error of a plan file, or of planning as one says: kUsage where the plan does not suit, and
// kRejectedInput where it is none, or was changed.
absl::Status PlanFileError(const absl::Status& status);

absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request, Console& console);

// Of the process that runs it.
MemoryNeed NeedOf(const PlannedModel& model);
int64_t AddressesNeeded(const PlannedModel& model);

// The model ready to run, its weights packed. The pages of the file are let go where they are not
// needed any more. ResourceExhausted where there are not as many addresses as it takes, or where
// planning took more than a total budget.
absl::StatusOr<std::shared_ptr<const Executable>> CompileModel(Model model,
                                                               const PlanRequest& request,
                                                               Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MODEL_H_

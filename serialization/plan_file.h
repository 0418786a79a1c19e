// Plans as JSON files, described by docs/plan.schema.json.
#ifndef ASHLAR_SERIALIZATION_PLAN_FILE_H_
#define ASHLAR_SERIALIZATION_PLAN_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/record/recorded_plan.h"
#include "serialization/model_identity.h"

namespace ashlar {

struct StoredPlan {
  ModelIdentity model;
  RecordedPlan plan;
};

// Returns the whole file. Equal plans give equal texts.
std::string PlanText(const StoredPlan& file);

// Returns InvalidArgument, naming the place, if the text is not a plan or was changed after
// writing. Returns FailedPrecondition for another version of the format. Does not check whether the
// plan suits a model (PlanAsRecorded does).
absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text);
// Reads the plan from a file, which `plan.path` and errors name. Returns NotFound etc. if the file
// cannot be opened.
absl::StatusOr<StoredPlan> ReadPlanFile(const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PLAN_FILE_H_

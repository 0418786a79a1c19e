// Plans as files: JSON, as docs/plan.schema.json describes it.
#ifndef ASHLAR_SERIALIZATION_PLAN_FILE_H_
#define ASHLAR_SERIALIZATION_PLAN_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/recorded_plan.h"
#include "serialization/model_identity.h"

namespace ashlar {

struct StoredPlan {
  ModelIdentity model;
  RecordedPlan plan;
};

// The whole file. Equal plans make equal texts.
std::string PlanText(const StoredPlan& file);

// InvalidArgument, naming the place, for a text that is no such plan or that was changed after it
// was written; FailedPrecondition where it is of another version of the format. Whether the plan is
// one of a model at hand is not looked at (PlanAsRecorded does).
absl::StatusOr<StoredPlan> ParsePlan(absl::string_view text);
// The same from a file, which `plan.path` and errors name; NotFound and the like where it cannot be
// opened.
absl::StatusOr<StoredPlan> ReadPlanFile(const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PLAN_FILE_H_

// Plans open models for programs.
#ifndef ASHLAR_LIBRARY_PLAN_MODEL_H_
#define ASHLAR_LIBRARY_PLAN_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "library/model.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/session/executable.h"

namespace ashlar {

// A planned model: exactly one of the first two is set.
struct PlannedModel {
  std::shared_ptr<const Executable> packed;  // its weights are used directly from the file
  std::unique_ptr<PlannedGraph> planned;     // its weights are not packed yet
  // If that is larger than the budget for the total: what streamed weights take, or how to have
  // some; the end of a sentence.
  std::string or_streamed;
  const PlannedGraph& plan() const { return packed != nullptr ? packed->planned() : *planned; }
};

// Plans the model. Uses the packed part of the file if it matches the request and fits a total
// budget; otherwise plans anew, with a note that says why. Errors are PlanGraph's, and
// UsePlainWeights's.
absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request,
                                       const NoteListener& note);

// Names the model's file in an error of a budget, which names none; "": it has no file.
absl::Status OfModel(const std::string& name, const absl::Status& status);

// Returns the packed part of the model's file that a plan may use; null if there is none.
const PackedModel* PackedFor(const Model& model, const PlanTarget& target);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_PLAN_MODEL_H_

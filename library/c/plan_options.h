// The C interface's options of planning as a request.
#ifndef ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_
#define ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_

#include "absl/status/statusor.h"
#include "library/c/watched.h"
#include "library/include/ashlar/ashlar.h"
#include "library/model.h"
#include "runtime/plan/plan_request.h"

namespace ashlar::c {

// The defaults of options that are zero: the options that the model's file was packed under, where
// it was and nothing else is asked for, else the planner's own. InvalidArgument names the option.
absl::StatusOr<PlanRequest> RequestFor(const Model& model, const ashlar_plan_options& options,
                                       const Watched& watched);

// The model for the shapes that are asked for. InvalidArgument names the one that is none; other
// errors are OpenModel's.
absl::StatusOr<Model> ModelFor(const ashlar_model& model, const ashlar_plan_options& options);

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_

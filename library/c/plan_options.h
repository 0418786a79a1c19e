// The C interface's planning options, as a request.
#ifndef ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_
#define ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_

#include "absl/status/statusor.h"
#include "library/c/watched.h"
#include "library/include/ashlar/ashlar.h"
#include "library/open_model.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar::c {

// Returns the request. Options that are zero take their defaults: if the model's file is packed and
// nothing else is requested, the options it was packed with, otherwise the planner's.
// InvalidArgument names the option.
absl::StatusOr<PlanRequest> RequestFor(const Model& model, const ashlar_plan_options& options,
                                       const Watched& watched);

// Returns the model for the requested shapes. InvalidArgument names an invalid shape; other errors
// are OpenModel's.
absl::StatusOr<Model> ModelFor(const ashlar_model& model, const ashlar_plan_options& options);

// Returns the model for the shapes of a plan that was made of it.
absl::StatusOr<Model> ModelOf(const ashlar_model& model, const ashlar_plan& plan);

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_PLAN_OPTIONS_H_

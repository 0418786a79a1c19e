// The request of a command to planning: its options, and where it has none, the options of the plan
// that
// --plan names, or those that the model's file was packed under.
#ifndef ASHLAR_TOOLS_REQUEST_H_
#define ASHLAR_TOOLS_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "serialization/plan_file.h"
#include "tools/console.h"
#include "tools/model.h"
#include "tools/options.h"

namespace ashlar {

// The plan in a file; kUsage where it is of another version of the format, kRejectedInput where it
// is none or cannot be read.
absl::StatusOr<StoredPlan> ReadNamedPlan(const std::string& path);

// `execution` becomes the plan's where --plan names one. Usage errors where a plan is not of this
// model, this processor, or what --device, --threads or another option says; kRejectedInput where
// its file is none.
absl::StatusOr<PlanRequest> RequestFor(const Model& model, ExecutionFlags& execution,
                                       PlanningFlags planning, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REQUEST_H_

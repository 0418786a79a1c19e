// The plan request of a command. Its options come from the command line, else from the plan named
// by --plan, or from the packed model's file.
#ifndef ASHLAR_TOOLS_REQUEST_H_
#define ASHLAR_TOOLS_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "serialization/plan_file.h"
#include "tools/console.h"
#include "tools/model.h"
#include "tools/options.h"

namespace ashlar {

// Reads the plan in a file. kUsage if it has another version of the format; kRejectedInput if it is
// no plan or cannot be read.
absl::StatusOr<StoredPlan> ReadNamedPlan(const std::string& path);

// Returns the request of a command. If --plan names a plan, `execution` becomes the plan's. Usage
// errors if that plan is for another model or processor, or conflicts with --device, --threads or
// another option; kRejectedInput if the file holds no plan.
absl::StatusOr<PlanRequest> RequestFor(const Model& model, ExecutionFlags& execution,
                                       PlanningFlags planning, Console& console);

// The same for a plan that is to run. FailedPrecondition, with the command that packs the weights,
// if they are to be streamed from a file that does not hold them packed.
absl::StatusOr<PlanRequest> RequestToRun(const Model& model, const std::string& path,
                                         ExecutionFlags& execution, PlanningFlags planning,
                                         Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REQUEST_H_

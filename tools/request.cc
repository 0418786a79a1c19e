#include "tools/request.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "library/packing_command.h"
#include "library/plan_model.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

// Checks that the plan was made for the options on the command line.
absl::Status CheckGiven(const RecordedPlan& plan, const ExecutionFlags& execution,
                        const PlanningFlags& planning) {
  const auto differs = [&](const char* option, const auto& given, const auto& planned) {
    return UsageError(
        absl::StrCat(option, " ", given, ": the plan ", plan.path, " is for ", planned));
  };
  const PlanTarget& target = plan.target;
  if (planning.Given("--device") && !(execution.device == target.comp_node)) {
    return differs("--device", execution.device.ToString(), target.comp_node.ToString());
  }
  if (planning.Given("--threads") && execution.threads != target.threads) {
    return differs("--threads", execution.threads, target.threads);
  }
  if (planning.Given("--precision") && execution.precision != target.precision) {
    return differs("--precision", Name(execution.precision), Name(target.precision));
  }
  if (planning.Given("--allow-tf32") && !plan.planning.kernels.allow_tf32) {
    return UsageError(absl::StrCat("--allow-tf32: the plan ", plan.path, " was made without"));
  }
  const std::optional<Processor>& processor = planning.request.target.processor;
  if (processor && !(*processor == plan.processor)) {
    return differs(kProcessorVariable, processor->ToString(), plan.processor.ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanRequest> RequestOfPlanFile(const Model& model, const PlanningFlags& planning,
                                              ExecutionFlags& execution) {
  ASHLAR_ASSIGN_OR_RETURN(StoredPlan file, ReadNamedPlan(planning.plan_file));
  RecordedPlan& plan = file.plan;
  ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, execution, planning));
  const ModelIdentity identity = IdentityOf(model);
  if (!(identity == file.model)) {
    return UsageError(absl::StrCat("--plan ", plan.path, " is the plan of another model: of ",
                                   file.model.ToString(), "; this one has ", identity.ToString()));
  }
  execution.device = plan.target.comp_node;
  execution.threads = plan.target.threads;
  execution.precision = plan.target.precision;
  execution.allow_tf32 = plan.planning.kernels.allow_tf32;
  return RequestAsRecorded(std::make_shared<const RecordedPlan>(std::move(plan)));
}

// Returns an error if weights are to be streamed that the file does not hold packed: a plan shows
// what packing would bring, but cannot run.
absl::Status CheckPackedToStream(const Model& model, const std::string& path,
                                 const PlanRequest& request) {
  if (!request.target.weights_budget || PackedFor(model, request.target) != nullptr) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": its weights are not packed, so they cannot be streamed; `",
                   PackingCommand(path, request), "` writes a file whose weights can be"));
}

}  // namespace

absl::StatusOr<StoredPlan> ReadNamedPlan(const std::string& path) {
  absl::StatusOr<StoredPlan> file = ReadPlanFile(path);
  if (file.ok()) return file;
  return WithExitCode(PlanFileError(file.status()), ExitCode::kRejectedInput);
}

absl::StatusOr<PlanRequest> RequestFor(const Model& model, ExecutionFlags& execution,
                                       PlanningFlags planning, Console& console) {
  PlanRequest request;
  if (!planning.plan_file.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(request, RequestOfPlanFile(model, planning, execution));
  } else {
    const PackedModel* const packed = PackedFor(model, planning.request.target);
    if (packed != nullptr && execution.device.type == CompNode::Type::kCpu) {
      planning.tuned_tiles = false;
      const auto given = [&](absl::string_view name) {
        return planning.Given(absl::StrCat("--", name));
      };
      TakePackedOptions(packed->options, given, planning.request);
    }
    request = ToPlanRequest(execution, planning, console);
  }
  request.target.reading_bytes = model.reading_bytes;
  return request;
}

absl::StatusOr<PlanRequest> RequestToRun(const Model& model, const std::string& path,
                                         ExecutionFlags& execution, PlanningFlags planning,
                                         Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(PlanRequest request,
                          RequestFor(model, execution, std::move(planning), console));
  ASHLAR_RETURN_IF_ERROR(CheckPackedToStream(model, path, request));
  return request;
}

}  // namespace ashlar

#include "tools/budget_checks.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/plan/total_plan.h"
#include "tools/exit_code.h"

namespace ashlar {

absl::Status CheckBudget(const PlannedGraph& planned, const std::string& path) {
  const std::optional<MemoryBudget>& budget = planned.request.target.budget;
  if (!budget || budget->bytes == 0) return absl::OkStatus();
  if (planned.plan.plan.arena <= budget->bytes) return absl::OkStatus();
  return WithExitCode(absl::ResourceExhaustedError(absl::StrCat(
                          path, " does not fit: --memory-budget is ", budget->bytes,
                          " bytes, the smallest that was found takes ", planned.smallest_budget)),
                      ExitCode::kDoesNotFit);
}

absl::Status CheckTotal(const PlannedModel& made, const std::string& path) {
  const std::optional<TotalBudget>& total = made.plan().request.target.total;
  const MemoryNeed need = NeedOf(made);
  if (!total || need.total() <= total->bytes) return absl::OkStatus();
  const int64_t least = LeastTotal(made.plan(), total->process_bytes);
  const std::string bound =
      least > total->bytes
          ? absl::StrCat("the process, weights, inputs and outputs take at least ", least, ", ")
          : "";
  return WithExitCode(absl::ResourceExhaustedError(
                          absl::StrCat(path, " does not fit: --total-budget is ", total->bytes,
                                       " bytes, ", bound, "the smallest total that was found is ",
                                       need.total(), ": ", need.ToString(), made.or_streamed)),
                      ExitCode::kDoesNotFit);
}

}  // namespace ashlar

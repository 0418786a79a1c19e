#include "tools/report/planner_comparison.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tools/format.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

// Returns the ratio of the arena to the lower bound.
std::string RatioToBound(const memory::PlanResult& result) {
  if (result.lower_bound == 0) return "1.00000";
  return absl::StrFormat(
      "%.5f", static_cast<double>(result.plan.arena) / static_cast<double>(result.lower_bound));
}

}  // namespace

absl::StatusOr<Json> ComparePlanners(const memory::Problem& problem, const std::string& planners,
                                     const memory::SearchLimits& limits, Console& console) {
  Table table({"planner", ">arena", ">bytes", ">to bound", ">search", "proof"});
  Json document = Json::array();
  for (absl::string_view name : absl::StrSplit(planners, ',')) {
    console.Progress(absl::StrCat("planning with ", name));
    const absl::StatusOr<memory::PlanResult> result =
        memory::PlanMemory(problem, {std::string(name), limits});
    if (absl::IsFailedPrecondition(result.status())) {
      const std::string reason(result.status().message());
      table.AddRow({std::string(name), "-", "-", "-", "-", reason});
      document.push_back({{"planner", std::string(name)}, {"error", reason}});
      continue;
    }
    if (!result.ok()) return result.status();
    table.AddRow({std::string(name), FormatBytes(result->plan.arena),
                  absl::StrCat(result->plan.arena), RatioToBound(*result),
                  FormatMilliseconds(result->search_ms), memory::ProofText(*result)});
    document.push_back({{"planner", std::string(name)},
                        {"arena_bytes", result->plan.arena},
                        {"lower_bound_bytes", result->lower_bound},
                        {"proof", std::string(memory::ProofName(result->proof))},
                        {"search_ms", result->search_ms},
                        {"total_ms", result->total_ms}});
  }
  console.Print(absl::StrCat("\n", table.ToText()));
  return document;
}

}  // namespace ashlar

// Writes a plan as a file: CSV, SVG, HTML, or the file that --plan takes.
#ifndef ASHLAR_TOOLS_PLAN_PICTURE_H_
#define ASHLAR_TOOLS_PLAN_PICTURE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/csv.h"
#include "memory/planner.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

enum class PlanFormat { kTable, kCsv, kSvg, kHtml, kPlan };

// Parses "table", "csv", "svg", "html" or "plan".
absl::StatusOr<PlanFormat> ParsePlanFormat(absl::string_view name);
// Returns the format for the ending of a file; kTable for any other. The known endings are:
inline constexpr absl::string_view kPlanEndings[] = {".csv", ".svg",  ".html",
                                                     ".htm", ".plan", ".txt"};
PlanFormat PlanFormatOf(const std::string& path);

// A problem and its solution.
struct PlannedBuffers {
  memory::CsvProblem problem;
  std::vector<std::string> names;  // one for each buffer
  std::vector<bool> workspaces;    // whether a buffer is a kernel's workspace; empty: no buffer is
  memory::PlanResult result;
  std::string title;
  std::string plan_text;             // content for kPlan, which is only for models
  std::optional<ViewedPlan> window;  // of streamed weights; drawn above the arena
  std::vector<ViewedPlan>
      viewed;  // for kHtml: the plan, and optionally another one to compare with
};

// Returns the file's content. `table` is the content for kTable.
absl::StatusOr<std::string> PlanFile(const PlannedBuffers& planned, PlanFormat format,
                                     const std::string& table);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_PICTURE_H_

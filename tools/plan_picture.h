// A plan as a file: CSV, SVG, HTML, or the file that --plan takes.
#ifndef ASHLAR_TOOLS_PLAN_PICTURE_H_
#define ASHLAR_TOOLS_PLAN_PICTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/csv.h"
#include "memory/planner.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

enum class PlanFormat { kTable, kCsv, kSvg, kHtml, kPlan };

// "table", "csv", "svg", "html" or "plan".
absl::StatusOr<PlanFormat> ParsePlanFormat(absl::string_view name);
// By the ending of a file; kTable for any other. Known are:
inline constexpr absl::string_view kPlanEndings[] = {".csv", ".svg",  ".html",
                                                     ".htm", ".plan", ".txt"};
PlanFormat PlanFormatOf(const std::string& path);

// A problem and the answer to it.
struct PlannedBuffers {
  memory::CsvProblem problem;
  std::vector<std::string> names;  // one for each buffer
  std::vector<bool> workspaces;    // whether a buffer is a kernel's workspace; empty: none is
  memory::PlanResult result;
  std::string title;
  std::string plan_text;           // the file of kPlan, which is of models only
  std::vector<ViewedPlan> viewed;  // for kHtml: the plan, and another beside it
};

// The file's content. `table` is that of kTable.
absl::StatusOr<std::string> PlanFile(const PlannedBuffers& planned, PlanFormat format,
                                     const std::string& table);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_PICTURE_H_

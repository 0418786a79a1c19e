// A plan as a file: CSV, SVG or HTML.
#ifndef ASHLAR_TOOLS_PLAN_PICTURE_H_
#define ASHLAR_TOOLS_PLAN_PICTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "memory/csv.h"
#include "memory/planner.h"

namespace ashlar {

enum class PlanFormat { kTable, kCsv, kSvg, kHtml };

// "table", "csv", "svg" or "html".
absl::StatusOr<PlanFormat> ParsePlanFormat(absl::string_view name);
// By the ending of a file; kTable for any other. Known are:
inline constexpr absl::string_view kPlanEndings[] = {".csv", ".svg", ".html", ".htm", ".txt"};
PlanFormat PlanFormatOf(const std::string& path);

// A problem and the answer to it.
struct PlannedBuffers {
  memory::CsvProblem problem;
  std::vector<std::string> names;  // one for each buffer
  std::vector<bool> workspaces;    // whether a buffer is a kernel's workspace; empty: none is
  memory::PlanResult result;
  std::string title;
};

// The file's content. `table` is that of kTable, and stands under the picture in HTML.
absl::StatusOr<std::string> PlanFile(const PlannedBuffers& planned, PlanFormat format,
                                     const std::string& table);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_PICTURE_H_

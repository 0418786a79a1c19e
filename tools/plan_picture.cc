#include "tools/plan_picture.h"

#include <iterator>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "memory/svg.h"
#include "tools/model.h"
#include "viewer/plan_page.h"

namespace ashlar {
namespace {

constexpr const char* kNames[] = {"table", "csv", "svg", "html", "plan"};

absl::Status WritePicture(const PlannedBuffers& planned, std::ostream& out) {
  memory::SvgOptions options;
  options.title = planned.title;
  options.names = planned.names;
  options.workspaces = planned.workspaces;
  options.lower_bound = planned.result.lower_bound;
  if (!planned.window) {
    return memory::WriteSvg(planned.problem.problem, planned.result.plan, options, out);
  }
  memory::Problem both = planned.problem.problem;
  memory::Plan plan = planned.result.plan;
  const ViewedPlan& window = *planned.window;
  const int64_t above = plan.arena;
  for (size_t i = 0; i < window.offsets.size(); ++i) {
    both.buffers.push_back(window.problem.buffers[i]);
    plan.offsets.push_back(above + window.offsets[i]);
    options.names.push_back(absl::StrCat("weights ", window.names[i]));
    if (!options.workspaces.empty()) options.workspaces.push_back(false);
  }
  options.above = window.arena;
  options.above_name = "window of weights";
  return memory::WriteSvg(both, plan, options, out);
}

}  // namespace

absl::StatusOr<PlanFormat> ParsePlanFormat(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<PlanFormat>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name.substr(0, 40), "' is not table, csv, svg, html or plan"));
}

PlanFormat PlanFormatOf(const std::string& path) {
  if (HasEnding(path, ".csv")) return PlanFormat::kCsv;
  if (HasEnding(path, ".svg")) return PlanFormat::kSvg;
  if (HasEnding(path, ".plan")) return PlanFormat::kPlan;
  if (HasEnding(path, ".html") || HasEnding(path, ".htm")) return PlanFormat::kHtml;
  return PlanFormat::kTable;
}

absl::StatusOr<std::string> PlanFile(const PlannedBuffers& planned, PlanFormat format,
                                     const std::string& table) {
  std::ostringstream out;
  switch (format) {
    case PlanFormat::kTable:
      return table;
    case PlanFormat::kPlan:
      return planned.plan_text;
    case PlanFormat::kCsv:
      ASHLAR_RETURN_IF_ERROR(memory::WriteCsv(planned.problem, planned.result.plan, out));
      break;
    case PlanFormat::kSvg:
      ASHLAR_RETURN_IF_ERROR(WritePicture(planned, out));
      break;
    case PlanFormat::kHtml:
      return PlanPage(planned.viewed);
  }
  return std::move(out).str();
}

}  // namespace ashlar

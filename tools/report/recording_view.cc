#include "tools/report/recording_view.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "memory/problem/lower_bound.h"

namespace ashlar {

absl::StatusOr<ViewedPlan> ViewOf(const ProfileRecording& recording, const RecordedMemory& memory,
                                  std::string title) {
  memory::PlanResult result;
  result.plan = memory.plan;
  result.plan.planner = "recorded";
  result.lower_bound = memory.peak_bytes;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> live,
                          memory::LiveProfile(memory.placement.problem));
  const auto highest = std::max_element(
      live.begin(), live.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (highest != live.end()) result.bottleneck_step = highest->step;
  ViewedPlan view = ViewOf(memory.placement.problem, result, memory.names, std::move(title));
  for (const int id : recording.comp_seq) {
    const DumpOperator& op = recording.operators.at(id);
    view.steps.push_back({op.name, op.type, "", 0, op.device ? op.device->total * 1e3 : -1});
  }
  return view;
}

}  // namespace ashlar

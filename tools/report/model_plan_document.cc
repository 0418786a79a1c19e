#include "tools/report/model_plan_document.h"

#include <string>

#include "codegen/executed_calls.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/plan/stages/stream_weights.h"
#include "tools/repeat_options.h"
#include "tools/report/plan_report.h"
#include "tools/report/record_use.h"

namespace ashlar {

void AddModelPlan(const PlannedGraph& planned, const PeakReport& peak, Json& document) {
  const memory::PlanResult& r = planned.plan;
  const auto pool = [](int64_t bytes) { return Json{{"planned_bytes", bytes}}; };
  const PlanTarget& target = planned.request.target;
  if (planned.device->is_host()) document["processor"] = planned.processor().ToString();
  AddArena(r, document);
  document["pools"] = {{"arena", pool(r.plan.arena)},
                       {"weights", pool(planned.weights.memory_bytes())},
                       {"input", pool(planned.input_bytes())},
                       {"output", pool(planned.output_bytes())}};
  if (const std::optional<WeightWindow>& window = planned.weights.window) {
    const ReadSpeed speed = ReadSpeedOf(planned.planning);
    document["weights_window"] = {{"budget_bytes", *target.weights_budget},
                                  {"window_bytes", window->bytes},
                                  {"resident_bytes", window->resident_bytes},
                                  {"read_bytes", window->read_bytes},
                                  {"reads", window->reads.size()},
                                  {"expected_ms", window->expected_ms},
                                  {"waiting_ms", window->waiting_ms},
                                  {"disk", speed.source},
                                  {"disk_bytes_per_second", speed.disk.bytes_per_ms * 1e3},
                                  {"disk_read_ms", speed.disk.read_ms}};
  }
  if (target.release_input) document["released_input_bytes"] = planned.released_bytes();
  if (planned.state.bytes > 0) document["pools"]["state"] = pool(planned.state.bytes);
  const bool runs = peak.bottleneck_node >= 0;
  document["arena"] = {
      {"lower_bound_bytes", r.lower_bound},
      {"proof", std::string(memory::ProofName(r.proof))},
      {"bottleneck_step", r.bottleneck_step},
      {"bottleneck_operator", runs ? planned.graph.node(peak.bottleneck_node).name : ""},
      {"workspace_at_peak_bytes", peak.workspace_bytes},
      {"copies_at_peak_bytes", peak.copies_bytes},
      {"planner", r.plan.planner}};
  document["extra_flops_ratio"] = planned.extra_flops_ratio;
  document["predicted_ms"] = planned.predicted_ms;
  if (target.comp_node.type == CompNode::Type::kMcu) {
    document["expected_instructions"] = ExpectedInstructions(planned);
  }
  document["kernel_record"] = RecordDocument(CountRecordUse(planned));
  document["tile"] = planned.tiles.ToString();
  document["repeat"] = OptionsToRepeat(planned);
  document["prefer"] = planned.planning.kernels.low_workspace ? "memory" : "speed";
  if (target.budget && target.budget->bytes > 0) {
    document["budget_bytes"] = target.budget->bytes;
    document["fits"] = r.plan.arena <= target.budget->bytes;
  }
  if (planned.smallest_budget > 0) {
    document["smallest_budget_bytes"] = planned.smallest_budget;
  }
  document["plan_ms"] = planned.plan_ms;
  document["memory_plan_ms"] = r.total_ms;
  document["passes"] = Json::array();
  for (const PassReport& pass : planned.passes) {
    document["passes"].push_back({{"name", pass.name},
                                  {"operators_before", pass.operators_before},
                                  {"operators_after", pass.operators_after},
                                  {"arena_bytes_before", pass.arena_bytes_before},
                                  {"arena_bytes_after", pass.arena_bytes_after}});
  }
  document["workspaces"] = WorkspaceDocument(planned);
  document["rounding"] = RoundingDocument(planned);
  document["bf16"] = BFloat16Document(planned);
  document["comp_seq"] = Json::array();
  for (int node : planned.schedule.order) {
    document["comp_seq"].push_back(planned.graph.node(node).name);
  }
}

}  // namespace ashlar

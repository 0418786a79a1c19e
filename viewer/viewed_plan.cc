#include "viewer/viewed_plan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "memory/problem/lower_bound.h"
#include "runtime/plan/stages/expected_times.h"

namespace ashlar {
namespace {

// Returns the position of each node in the order; -1: not scheduled.
std::vector<int> StepOfNode(const PlannedGraph& planned) {
  std::vector<int> steps(planned.graph.nodes().size(), -1);
  for (size_t step = 0; step < planned.schedule.order.size(); ++step) {
    steps[planned.schedule.order[step]] = static_cast<int>(step);
  }
  return steps;
}

void AddReads(const PlannedGraph& planned, ViewedPlan& view) {
  const std::vector<int> step_of = StepOfNode(planned);
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    const int buffer = planned.lifetimes.storage_buffer[s];
    if (buffer < 0) continue;
    for (const int node : planned.model.storages[s].readers) {
      if (step_of[node] >= 0) view.reads.push_back({buffer, step_of[node]});
    }
  }
  std::sort(view.reads.begin(), view.reads.end(), [](const ViewedRead& a, const ViewedRead& b) {
    return std::pair(a.buffer, a.step) < std::pair(b.buffer, b.step);
  });
}

void AddViews(const PlannedGraph& planned, ViewedPlan& view) {
  for (size_t var = 0; var < planned.model.views.size(); ++var) {
    const VarView& place = planned.model.views[var];
    if (place.storage < 0) continue;
    const int buffer = planned.lifetimes.storage_buffer[place.storage];
    if (buffer < 0 || planned.model.storages[place.storage].owner == static_cast<int>(var)) {
      continue;
    }
    const Var& tensor = planned.graph.var(static_cast<int>(var));
    view.views.push_back({buffer, tensor.name, place.offset, tensor.type.bytes()});
  }
  std::stable_sort(view.views.begin(), view.views.end(),
                   [](const ViewedView& a, const ViewedView& b) { return a.buffer < b.buffer; });
}

void AddTimes(const PlannedGraph& planned, ViewedPlan& view) {
  const std::vector<double> expected = ExpectedTimes(planned);
  for (size_t step = 0; step < view.steps.size(); ++step) {
    const int node = planned.schedule.order[step];
    if (planned.kernels[node] == nullptr) continue;
    view.steps[step].ms = expected[node];
  }
}

}  // namespace

ViewedPlan ViewOf(const memory::Problem& problem, const memory::PlanResult& result,
                  std::vector<std::string> names, std::string title) {
  ViewedPlan view;
  view.title = std::move(title);
  view.problem = problem;
  view.offsets = result.plan.offsets;
  view.names = std::move(names);
  if (view.names.empty()) {
    for (const memory::Buffer& buffer : problem.buffers) {
      view.names.push_back(absl::StrCat("buffer ", buffer.id));
    }
  }
  view.arena = result.plan.arena;
  view.lower_bound = result.lower_bound;
  view.proven = std::max(result.lower_bound, result.plan.proven_bound);
  view.bottleneck_step = result.bottleneck_step;
  view.proof = result.proof;
  view.planner = result.plan.planner;
  return view;
}

ViewedPlan ViewOf(const RecordedPlan& record, std::string title) {
  ViewedPlan view;
  view.title = std::move(title);
  view.problem = record.problem();
  for (const RecordedChunk& chunk : record.chunks) {
    view.offsets.push_back(chunk.buffer.offset.value_or(0));
    view.names.push_back(chunk.name);
    view.kinds.push_back(chunk.kind);
  }
  for (const RecordedStep& step : record.steps) {
    view.steps.push_back({step.name, step.type, step.kernel, step.workspace_bytes});
  }
  view.arena = record.arena;
  view.lower_bound = record.lower_bound;
  view.proven = std::max(record.lower_bound, record.proven_bound);
  view.weights = record.weights;
  view.inputs = record.inputs;
  view.outputs = record.outputs;
  view.bottleneck_step = record.bottleneck_step;
  view.proof = record.proof();
  view.planner = record.found_by;
  view.tile = record.target.tiles.ToString();
  return view;
}

ViewedPlan ViewOf(const RecordedPlan& record, const PlannedGraph& planned, std::string title) {
  ViewedPlan view = ViewOf(record, std::move(title));
  view.problem = planned.lifetimes.problem;  // a chunk may be contained in several
  view.passes = planned.passes;
  if (planned.request.target.budget) view.budget = planned.request.target.budget->bytes;
  view.extra_flops = planned.extra_flops_ratio;
  view.predicted_ms = planned.predicted_ms;
  AddReads(planned, view);
  AddViews(planned, view);
  AddTimes(planned, view);
  return view;
}

ViewedPlan ViewOfWindow(const PlannedGraph& planned, std::string title) {
  const WeightWindow& window = *planned.weights.window;
  const std::vector<WeightEntry>& entries = planned.weights.entries;
  const auto steps = static_cast<int64_t>(planned.schedule.order.size());
  ViewedPlan view;
  view.title = std::move(title);
  view.offsets = window.offsets;
  view.arena = window.bytes;
  for (const WeightEntry& entry : entries) {
    view.names.push_back(planned.graph.var(entry.var).name);
    view.problem.buffers.push_back({.id = static_cast<int64_t>(view.problem.buffers.size()),
                                    .lower = 0,
                                    .upper = steps,
                                    .size = entry.bytes,
                                    .alignment = planned.device->alignment()});
  }
  // The thread reads one weight after the other.
  int begin = 0;
  for (const WeightWindow::Read& read : window.reads) {
    begin = std::max(begin, read.after + 1);
    view.problem.buffers[read.weight].lower = begin;
  }
  std::vector<int64_t> last(entries.size(), 0);
  for (int64_t step = 0; step < steps; ++step) {
    const int node = planned.schedule.order[step];
    const OperatorNode& operation = planned.graph.node(node);
    const Kernel* const kernel = planned.kernels[node].get();
    view.steps.push_back({operation.name, std::string(operation.op->type()),
                          kernel == nullptr ? "" : std::string(kernel->implementation()),
                          planned.workspace[node]});
    for (const int entry : planned.weights.by_input[node]) {
      if (entry < 0) continue;
      last[entry] = step;
      view.reads.push_back({entry, static_cast<int>(step)});
    }
  }
  for (const WeightWindow::Read& read : window.reads) {
    view.problem.buffers[read.weight].upper = last[read.weight] + 1;
  }
  std::sort(view.reads.begin(), view.reads.end(), [](const ViewedRead& a, const ViewedRead& b) {
    return std::pair(a.buffer, a.step) < std::pair(b.buffer, b.step);
  });
  AddTimes(planned, view);
  if (const auto profile = memory::LiveProfile(view.problem); profile.ok()) {
    for (const memory::LiveBytes& live : *profile) {
      if (live.bytes <= view.lower_bound) continue;
      view.lower_bound = view.proven = live.bytes;
      view.bottleneck_step = live.step;
    }
  }
  view.planner = planned.planning.planner.planner;
  return view;
}

}  // namespace ashlar

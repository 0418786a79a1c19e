#include "tools/peak.h"

#include <algorithm>
#include <iterator>

namespace ashlar {
namespace {

bool LiveAt(const memory::Buffer& buffer, int64_t step) {
  return buffer.lower <= step && step < buffer.upper;
}

// Bytes of a var that only repeat others: all that an operator which moves data makes, but for what
// was made in its place.
int64_t CopiedBytes(const PlannedGraph& planned, const Var& var) {
  static constexpr absl::string_view kMoving[] = {"Concat", "RelayoutFormat", "Subtensor"};
  const absl::string_view type = planned.graph.node(var.producer).op->type();
  if (std::find(std::begin(kMoving), std::end(kMoving), type) == std::end(kMoving)) return 0;
  int64_t bytes = var.type.bytes();
  for (const Placement& placement : planned.model.placements[var.producer]) {
    bytes -= planned.model.storages[placement.inner].bytes;
  }
  return bytes;
}

}  // namespace

std::vector<int> BuffersAtPeak(const memory::Problem& problem, int64_t step) {
  std::vector<bool> covered(problem.buffers.size(), false);
  for (const memory::Inside& relation : problem.inside) {
    if (LiveAt(problem.buffers[relation.outer], step)) covered[relation.inner] = true;
  }
  std::vector<int> live;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const memory::Buffer& buffer = problem.buffers[i];
    if (LiveAt(buffer, step) && buffer.size > 0 && !covered[i]) live.push_back(static_cast<int>(i));
  }
  std::stable_sort(live.begin(), live.end(),
                   [&](int a, int b) { return problem.buffers[a].size > problem.buffers[b].size; });
  return live;
}

std::vector<int> VarsOfBuffers(const PlannedGraph& planned) {
  std::vector<int> vars(planned.lifetimes.problem.buffers.size(), 0);
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    const int buffer = planned.lifetimes.storage_buffer[s];
    if (buffer >= 0) vars[buffer] = planned.model.storages[s].owner;
  }
  for (size_t n = 0; n < planned.graph.nodes().size(); ++n) {
    const int buffer = planned.lifetimes.workspace_buffer[n];
    if (buffer >= 0) vars[buffer] = planned.graph.node(static_cast<int>(n)).outputs.back();
  }
  return vars;
}

PeakReport ExaminePeak(const PlannedGraph& planned, int first_added_id) {
  PeakReport report;
  const int64_t step = planned.plan.bottleneck_step;
  if (planned.schedule.order.empty()) return report;
  report.bottleneck_node = planned.schedule.order[step];
  const std::vector<int> vars = VarsOfBuffers(planned);
  for (int buffer : BuffersAtPeak(planned.lifetimes.problem, step)) {
    const int64_t bytes = planned.lifetimes.problem.buffers[buffer].size;
    const Var& var = planned.graph.var(vars[buffer]);
    if ((var.flags & kVolatileContent) != 0) {
      report.workspace_bytes += bytes;
    } else if (planned.graph.node(var.producer).id >= first_added_id) {
      report.copies_bytes += CopiedBytes(planned, var);
    }
  }
  return report;
}

}  // namespace ashlar

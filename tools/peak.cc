#include "tools/peak.h"

#include <algorithm>

namespace ashlar {
namespace {

bool LiveAt(const memory::Buffer& buffer, int64_t step) {
  return buffer.lower <= step && step < buffer.upper;
}

// Returns the bytes of a var that are copies: the output of an operator that only moves data,
// without the slices that were made in place.
int64_t CopiedBytes(const PlannedGraph& planned, int index) {
  const Var& var = planned.graph.var(index);
  const OperatorNode& producer = planned.graph.node(var.producer);
  if (!producer.op->storage_rules(planned.graph.SiteOf(producer)).moves) return 0;
  int64_t bytes = var.type.bytes();
  for (const Placement& placement : planned.model.placements[var.producer]) {
    if (planned.model.storages[placement.outer].owner != index) continue;
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

std::vector<bool> WorkspaceBuffers(const PlannedGraph& planned) {
  std::vector<bool> workspaces(planned.lifetimes.problem.buffers.size(), false);
  for (const int buffer : planned.lifetimes.workspace_buffer) {
    if (buffer >= 0) workspaces[buffer] = true;
  }
  return workspaces;
}

PeakReport ExaminePeak(const PlannedGraph& planned, int first_added_id) {
  PeakReport report;
  const int64_t step = planned.plan.bottleneck_step;
  if (planned.schedule.order.empty()) return report;
  report.bottleneck_node = planned.schedule.order[step];
  std::vector<int> owners(planned.lifetimes.problem.buffers.size(), -1);  // vars
  for (size_t s = 0; s < planned.model.storages.size(); ++s) {
    const int buffer = planned.lifetimes.storage_buffer[s];
    if (buffer >= 0) owners[buffer] = planned.model.storages[s].owner;
  }
  for (int buffer : BuffersAtPeak(planned.lifetimes.problem, step)) {
    if (owners[buffer] < 0) {
      report.workspace_bytes += planned.lifetimes.problem.buffers[buffer].size;
      continue;
    }
    const Var& var = planned.graph.var(owners[buffer]);
    if (planned.graph.node(var.producer).id < first_added_id) continue;
    const int64_t copied = CopiedBytes(planned, owners[buffer]);
    report.copies_bytes += std::min(copied, planned.lifetimes.problem.buffers[buffer].size);
  }
  return report;
}

}  // namespace ashlar

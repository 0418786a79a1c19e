#include "tests/fuzz/plan.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "memory/problem/work.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "runtime/session/session.h"
#include "tests/fuzz/target.h"

namespace ashlar::testing {
namespace {

// Larger graphs take long without being wrong.
constexpr size_t kMostNodes = 2000;       // to be planned
constexpr int64_t kMostBytes = 1 << 20;   // of memory, to run
constexpr int64_t kMostWork = 100 << 20;  // scalar operations

// Returns whether the weights in memory and the work of all operators are small.
bool IsSmall(const Graph& graph) {
  int64_t work = 0, bytes = 0;
  for (const OperatorNode& node : graph.nodes()) {
    OwnedSite site;
    for (const int var : node.inputs) site.inputs.push_back({graph.var(var).type});
    for (const int var : node.outputs) {
      site.outputs.push_back(graph.var(var).type);
      bytes += std::min(graph.var(var).type.bytes(), 2 * kMostBytes);
    }
    if (node.op->role() == Role::kCompute) {
      work += std::min(node.op->Computation(site), 2 * kMostWork);
    }
    if (work > kMostWork || bytes > kMostBytes) return false;
  }
  return true;
}

absl::Status RunIt(std::unique_ptr<PlannedGraph> planned) {
  ASHLAR_ASSIGN_OR_RETURN(const auto executable, Executable::FromPlan(std::move(planned)));
  ASHLAR_ASSIGN_OR_RETURN(const auto session, Session::Create(executable));
  InputTensors inputs;
  for (const Binding& input : executable->graph().inputs()) {
    const TensorType& type = executable->graph().var(input.var).type;
    inputs[input.name] = HostTensor::Zeros(type);
  }
  const absl::StatusOr<std::vector<HostTensor>> outputs = BindTensors(*session, inputs);
  return outputs.ok() ? session->Run() : outputs.status();
}

}  // namespace

void PlanWhatWasRead(absl::StatusOr<Graph> graph) {
  ExpectAnError(graph.status());
  if (!graph.ok() || graph->nodes().size() > kMostNodes) return;
  cpu::RegisterDevice();
  PlanRequest request;
  request.planning.planner.limits.work = memory::kWorkPerMillisecond;
  const bool small = IsSmall(*graph);
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = PlanGraph(*std::move(graph), request);
  ExpectAnError(planned.status());
  if (planned.ok() && small) ExpectAnError(RunIt(*std::move(planned)));
}

}  // namespace ashlar::testing

#include "runtime/executable.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "opr/table.h"
#include "runtime/guarded_memory.h"

namespace ashlar {
namespace {

constexpr int64_t kMeasureSlack = 1 << 16;  // bytes behind the pool that packing must leave alone

// Constants that now live in the pool and whose value nobody needs on the host.
std::vector<int> PackedConstants(const PlannedGraph& planned) {
  std::vector<int> vars;
  for (const WeightEntry& entry : planned.weights.entries) {
    bool host_value = false;
    for (int reader : planned.graph.readers(entry.var)) {
      const OperatorNode& node = planned.graph.node(reader);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        host_value |= node.inputs[i] == entry.var &&
                      node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue;
      }
    }
    if (!host_value) vars.push_back(entry.var);
  }
  return vars;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> Executable::Compile(
    Graph graph, const PlanningOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(graph), options));
  return FromPlan(std::move(planned));
}

absl::StatusOr<std::shared_ptr<const Executable>> Executable::FromPlan(
    std::unique_ptr<PlannedGraph> planned, bool measure_weights) {
  if (planned->options.workspace != WorkspaceSource::kKernel) {
    return absl::InvalidArgumentError(
        "a plan with recorded workspaces cannot be run: kernels need their own");
  }
  auto executable = std::make_shared<Executable>();
  planned->device->UseThreads(planned->options.threads);
  const int64_t slack = measure_weights ? kMeasureSlack : 0;
  ASHLAR_ASSIGN_OR_RETURN(executable->weights_,
                          planned->device->Allocate(planned->weights.bytes + slack));
  DeviceMemory& pool = *executable->weights_;
  if (measure_weights) {
    // Twice, with complementary patterns: a byte that equals one of them differs from the other.
    for (const uint8_t pattern : {0xA5, 0x5A}) {
      std::memset(pool.data(), pattern, static_cast<size_t>(pool.bytes()));
      ASHLAR_RETURN_IF_ERROR(PackWeights(planned->graph, planned->weights, pool.data()));
      executable->weights_written_ = std::max(executable->weights_written_,
                                              HighestChanged(pool.data(), pool.bytes(), pattern));
    }
  } else {
    ASHLAR_RETURN_IF_ERROR(PackWeights(planned->graph, planned->weights, pool.data()));
  }
  planned->graph = planned->graph.WithoutConstantData(PackedConstants(*planned), Operators());
  malloc_trim(0);  // what folding left behind goes back to the system
  executable->planned_ = std::move(planned);
  return std::shared_ptr<const Executable>(std::move(executable));
}

}  // namespace ashlar

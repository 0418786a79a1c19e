#include "runtime/measure/timed_network.h"

#include <random>
#include <utility>

#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/profiler.h"

namespace ashlar {
namespace {

// Returns random inputs: the speed of a device depends on their values.
InputTensors RandomInputs(const Graph& graph) {
  InputTensors inputs;
  std::mt19937_64 random(0);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const Binding& input : graph.inputs()) {
    HostTensor tensor = HostTensor::Zeros(graph.var(input.var).type);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, uniform(random));
    inputs[input.name] = std::move(tensor);
  }
  return inputs;
}

}  // namespace

absl::StatusOr<TimedNetwork> TimedNetwork::Prepare(const Graph& graph, const PlanRequest& request) {
  SharedTensors none;
  return Prepare(graph, request, none);
}

absl::StatusOr<TimedNetwork> TimedNetwork::Prepare(const Graph& graph, const PlanRequest& request,
                                                   SharedTensors& shared) {
  TimedNetwork network;
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
  // Frees packed weights that do not match before packing others.
  if (shared.packed != nullptr && !shared.packed->HasWeightsOf(*planned)) shared.packed = nullptr;
  ASHLAR_ASSIGN_OR_RETURN(network.executable_,
                          Executable::FromPlan(std::move(planned), {.packed = shared.packed}));
  if (shared.packed == nullptr) shared.packed = network.executable_;
  ASHLAR_ASSIGN_OR_RETURN(network.session_, Session::Create(network.executable_));
  if (shared.inputs == nullptr) {
    shared.inputs =
        std::make_shared<const InputTensors>(RandomInputs(network.executable_->graph()));
  }
  network.inputs_ = shared.inputs;
  ASHLAR_ASSIGN_OR_RETURN(network.outputs_, BindTensors(*network.session_, *network.inputs_));
  return network;
}

absl::StatusOr<std::vector<double>> TimedNetwork::Run() {
  const std::vector<int>& order = planned().schedule.order;
  Profiler profiler(static_cast<int>(order.size()));
  ASHLAR_RETURN_IF_ERROR(session_->Run(profiler));
  std::vector<double> seconds(planned().kernels.size(), 0);
  for (size_t step = 0; step < order.size(); ++step) {
    const StepTime& time = profiler.steps()[step];
    seconds[order[step]] = time.end - time.start;
  }
  return seconds;
}

std::string TimedNetwork::Implementation(int node) const {
  const auto& kernel = planned().kernels[node];
  return kernel == nullptr ? std::string() : kernel->implementation();
}

}  // namespace ashlar

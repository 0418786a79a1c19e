// A planned network on random inputs with timed nodes.
#ifndef ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_
#define ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"

namespace ashlar {

// Tensors that several networks of one graph share. Inputs are made once, and weights are packed
// once for all kernels with the same layout.
struct SharedTensors {
  std::shared_ptr<const InputTensors> inputs = nullptr;
  std::shared_ptr<const Executable> packed = nullptr;
};

class TimedNetwork {
 public:
  // Plans, packs and binds. `graph` is not rewritten if the request's passes are "none".
  static absl::StatusOr<TimedNetwork> Prepare(const Graph& graph, const PlanRequest& request);
  static absl::StatusOr<TimedNetwork> Prepare(const Graph& graph, const PlanRequest& request,
                                              SharedTensors& shared);

  // Runs once. Returns by node the seconds on the clock of its device; 0 if it has no step.
  absl::StatusOr<std::vector<double>> Run();

  // Session::SecondsOfSteps.
  absl::StatusOr<double> SecondsOfSteps(int repetitions) {
    return session_->SecondsOfSteps(repetitions);
  }

  // The graph's outputs of the last Run, in its order.
  const std::vector<HostTensor>& outputs() const { return outputs_; }

  const PlannedGraph& planned() const { return executable_->planned(); }
  // Returns the implementation of a node's kernel; empty if it has no step.
  std::string Implementation(int node) const;

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<const InputTensors> inputs_;
  std::vector<HostTensor> outputs_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_

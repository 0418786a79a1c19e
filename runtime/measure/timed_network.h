// A planned network on random inputs, whose nodes are timed.
#ifndef ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_
#define ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/plan_request.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"

namespace ashlar {

// Passed from one network to the next of the same graph, so that inputs are made once, and weights
// are packed once for all kernels that want them alike.
struct SharedTensors {
  std::shared_ptr<const InputTensors> inputs = nullptr;
  std::shared_ptr<const Executable> packed = nullptr;
};

class TimedNetwork {
 public:
  // Plans, packs and binds. `graph` is not rewritten where the request's passes are "none".
  static absl::StatusOr<TimedNetwork> Prepare(const Graph& graph, const PlanRequest& request);
  static absl::StatusOr<TimedNetwork> Prepare(const Graph& graph, const PlanRequest& request,
                                              SharedTensors& shared);

  // Runs once. By node, the seconds that it took on the clock of its device; 0 where it has no
  // step.
  absl::StatusOr<std::vector<double>> Run();

  // Session::SecondsOfSteps.
  absl::StatusOr<double> SecondsOfSteps(int repetitions) {
    return session_->SecondsOfSteps(repetitions);
  }

  const PlannedGraph& planned() const { return executable_->planned(); }
  // Of the kernel that a node runs on; empty: it has no step.
  std::string Implementation(int node) const;

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<const InputTensors> inputs_;
  std::vector<HostTensor> outputs_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TIMED_NETWORK_H_

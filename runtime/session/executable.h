// A model ready to run: its plan, and its weights packed.
#ifndef ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_
#define ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/packed_model.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// Told of bytes of a model's weights that were read for the last time: pages of a file can
// leave memory then.
using DoneWith = std::function<void(const void* data, int64_t bytes)>;

struct PackOptions {
  // Pack the pool into memory larger than planned, and measure the written bytes.
  bool measure = false;
  DoneWith done_with = nullptr;  // may be empty
  // An executable of the same graph: its packed weights are used if the plan has the same.
  std::shared_ptr<const class Executable> packed = nullptr;
};

// Immutable and shared by sessions.
class Executable {
 public:
  // Plans the graph and packs its weights. The graph's own copy of a packed constant is dropped:
  // pass the graph by move, and weights are in memory once.
  static absl::StatusOr<std::shared_ptr<const Executable>> Compile(
      Graph graph, const PlanRequest& request, const DoneWith& done_with = nullptr);
  // The same from a plan made before.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromPlan(
      std::unique_ptr<PlannedGraph> planned, const PackOptions& options = {});

  // Plans of one model at several shapes: executables in their order, with one pool of weights, in
  // which holds once the weights that several of them want alike. InvalidArgument where the plans
  // are of several comp nodes.
  static absl::StatusOr<std::vector<std::shared_ptr<const Executable>>> FromPlans(
      std::vector<std::unique_ptr<PlannedGraph>> plans, const DoneWith& done_with = nullptr);

  // From weights packed before, which are used where they lie. FailedPrecondition where they do not
  // suit the device or the request, or are not what the kernels of this version want.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromPacked(PackedModel packed,
                                                                      const PlanRequest& request);
  // This one's graph, kernels and weights.
  static PackedModel ToPacked(std::shared_ptr<const Executable> executable);

  const PlannedGraph& planned() const { return *planned_; }
  const Graph& graph() const { return planned_->graph; }
  const void* weights() const { return weights_->data(); }
  // Whether the pool holds the weights of another plan of the same graph, at the same places.
  bool HasWeightsOf(const PlannedGraph& planned) const;
  // Of a weight, which lies there or in a file (Location::binding).
  const char* AddressOf(const Location& weight) const;
  // Of the block that holds the weights.
  int64_t weights_bytes() const { return weights_->bytes(); }
  // Bytes up to the highest one that packing wrote; -1 if it was not measured.
  int64_t weights_written() const { return weights_written_; }

 private:
  std::unique_ptr<PlannedGraph> planned_;
  std::unique_ptr<DeviceMemory> weights_;
  int64_t weights_written_ = -1;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_

// A model ready to run: its plan and its packed weights.
#ifndef ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_
#define ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/record/packed_model.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/session/streamed_weights.h"

namespace ashlar {

struct PackOptions {
  // Pack the pool into memory larger than planned, and measure the written bytes.
  bool measure = false;
  DoneWith done_with = nullptr;  // may be empty
  // An executable of the same graph: its packed weights are used if the plan has the same.
  std::shared_ptr<const class Executable> packed = nullptr;
};

// A compiled model. Immutable and shared by sessions.
class Executable {
 public:
  // Plans the graph and packs its weights. The graph's own copy of a packed constant is freed: pass
  // the graph by move, and weights are in memory once.
  static absl::StatusOr<std::shared_ptr<const Executable>> Compile(
      Graph graph, const PlanRequest& request, const DoneWith& done_with = nullptr);
  // Packs the weights of an existing plan.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromPlan(
      std::unique_ptr<PlannedGraph> planned, const PackOptions& options = {});

  // Compiles plans of one model at several shapes into executables in their order, with one pool of
  // weights. It holds weights that several of them use in the same form once. InvalidArgument if
  // the plans are for several comp nodes.
  static absl::StatusOr<std::vector<std::shared_ptr<const Executable>>> FromPlans(
      std::vector<std::unique_ptr<PlannedGraph>> plans, const DoneWith& done_with = nullptr);

  // Uses packed weights in place, or streams them from their file if the request has a budget for
  // weights. FailedPrecondition if they do not match the device, the request, or the kernels of
  // this version, or cannot be streamed.
  static absl::StatusOr<std::shared_ptr<const Executable>> FromPacked(PackedModel packed,
                                                                      const PlanRequest& request);
  // Returns the graph, kernels and weights of `executable`.
  static PackedModel ToPacked(std::shared_ptr<const Executable> executable);
  // The same for a plan whose weights are packed one by one when they are written to a file.
  static absl::StatusOr<PackedModel> ToPacked(std::unique_ptr<PlannedGraph> planned,
                                              const DoneWith& done_with = nullptr);

  const PlannedGraph& planned() const { return *planned_; }
  const Graph& graph() const { return planned_->graph; }
  const void* weights() const { return memory().data(); }
  // Null unless weights are streamed; a session opens them.
  StreamedWeights* streamed() const { return streamed_.get(); }
  // Returns whether the pool holds the weights of another plan of the same graph, at the same
  // places.
  bool HasWeightsOf(const PlannedGraph& planned) const;
  // Returns the address of a weight, in the pool or in a file (Location::binding).
  const char* AddressOf(const Location& weight) const;
  // Bytes of the block that holds the weights.
  int64_t weights_bytes() const { return memory().bytes(); }
  // Bytes up to the highest one that packing wrote; -1 if not measured.
  int64_t weights_written() const { return weights_written_; }

 private:
  const DeviceMemory& memory() const { return streamed_ ? *streamed_->memory() : *weights_; }

  std::unique_ptr<PlannedGraph> planned_;
  std::unique_ptr<DeviceMemory> weights_;  // null: streamed
  std::unique_ptr<StreamedWeights> streamed_;
  int64_t weights_written_ = -1;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_EXECUTABLE_H_

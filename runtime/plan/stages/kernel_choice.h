// Finds the candidate kernels of each node and chooses one: greedily, node by node, the fastest
// whose workspace does not raise the peak of the graph.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_KERNEL_CHOICE_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_KERNEL_CHOICE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/device/device.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_target.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// The candidates by node, the recorded one first, then the fastest. Empty if no kernel runs
// (constants, inputs, views, outputs written in place). Nodes with equal requests share their
// kernels.
using KernelCandidates = std::vector<std::vector<std::shared_ptr<const Kernel>>>;

// Finds the candidates. Returns Unimplemented, naming all nodes without a kernel on the device; of
// nodes with equal requests only the first. `record` may be null.
absl::StatusOr<KernelCandidates> FindKernels(const Graph& graph, const StorageModel& model,
                                             Device& device, const PlanTarget& target,
                                             const KernelPolicy& policy = {},
                                             const KernelRecord* record = nullptr);

// Returns whether the device has kernels of the operator's type, and none for these inputs.
bool RefusesInputs(const Graph& graph, const OperatorNode& node, const Device& device,
                   const PlanTarget& target, const KernelPolicy& policy);

// Returns whether the device's kernels for a node take a var that it reads or makes in NHWC.
bool TakesChannelsLast(const Graph& graph, const OperatorNode& node, int var, const Device& device);

// Returns by node the name of its problem in a KernelRecord; empty if no kernel runs. The policy is
// part of the name, because policies differ in their candidates.
std::vector<std::string> KernelKeys(const Graph& graph, const StorageModel& model,
                                    const KernelPolicy& policy);

// Returns a text that identifies a kernel among a node's candidates: its family and its packing of
// constants. The variants of a family compute the same from the same weights.
std::string KernelIdentity(const Graph& graph, const OperatorNode& node, const Kernel& kernel);

// Returns bytes that are equal for nodes with the same kernels: all of a node but its names and the
// values of its weights.
std::string KernelContents(const Graph& graph, const OperatorNode& node);

// Kernels that were chosen before, by node.
struct ChosenKernels {
  absl::Span<const std::string> identities;  // KernelIdentity; "" if no kernel runs
  bool other_shapes = false;  // of the graph: other families may compute from the same weights
};

// Keeps only the candidates that were chosen. FailedPrecondition, naming the node, if there is
// none.
absl::Status KeepKernels(const Graph& graph, const ChosenKernels& chosen,
                         KernelCandidates& candidates);

// Returns by node the smallest workspace of the candidates that are not much slower than the
// fastest; 0 if it is negligible. The order is chosen with these.
std::vector<int64_t> LeastWorkspace(const KernelCandidates& candidates);

// The least workspaces of the operators of many graphs, whose kernels are not prepared again if an
// equal request was made before. Any thread may call Of.
class KnownWorkspaces {
 public:
  KnownWorkspaces(Device& device, PlanTarget target, const KernelPolicy& policy,
                  std::shared_ptr<const KernelRecord> record)
      : device_(device), target_(std::move(target)), policy_(policy), record_(std::move(record)) {
    device_.UseThreads(target_.threads);
  }

  // Returns the least workspaces by node; all 0 if an operator has no kernel.
  std::vector<int64_t> Of(const Graph& graph, const StorageModel& model);

 private:
  std::optional<int64_t> Of(const Graph& graph, const OperatorNode& node);

  Device& device_;
  const PlanTarget target_;
  const KernelPolicy policy_;
  const std::shared_ptr<const KernelRecord> record_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, std::optional<int64_t>> known_;
};

// Chooses by node the first candidate whose workspace raises the peak by at most `extra` bytes.
// This peak is the graph's with the least workspaces (LeastWorkspace). `live`: bytes live at each
// node's step without any workspace, by node.
std::vector<std::shared_ptr<const Kernel>> ChooseKernels(const KernelCandidates& candidates,
                                                         absl::Span<const int64_t> live,
                                                         int64_t extra);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_KERNEL_CHOICE_H_

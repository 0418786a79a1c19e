// Which kernels could run each node, and which one does: greedily, node by node, the fastest whose
// workspace fits under the peak that the graph has anyway.
#ifndef ASHLAR_RUNTIME_PLAN_KERNEL_CHOICE_H_
#define ASHLAR_RUNTIME_PLAN_KERNEL_CHOICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/device/device.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// By node, the candidates, the recorded one first and then the fastest; empty where nothing has to
// run (constants, inputs, views, outputs written in place). Nodes with equal requests share their
// kernels.
using KernelCandidates = std::vector<std::vector<std::shared_ptr<const Kernel>>>;

// Unimplemented, naming all nodes for which the device has no kernel; of nodes with
// equal requests the first. `processor` as in Wishes; `record` may be null.
absl::StatusOr<KernelCandidates> FindKernels(const Graph& graph, const StorageModel& model,
                                             Device& device,
                                             const std::optional<Processor>& processor, int threads,
                                             const KernelPolicy& policy = {},
                                             const KernelRecord* record = nullptr);

// By node, the name of its problem in a KernelRecord; empty where nothing has to run. What was
// measured under one policy says nothing of another, which has other candidates.
std::vector<std::string> KernelKeys(const Graph& graph, const StorageModel& model, int threads,
                                    const KernelPolicy& policy);

// Tells a kernel from the others for a node: the family it is of, and how it wants constants
// packed. The variants of a family compute the same from the same weights.
std::string KernelIdentity(const Graph& graph, const OperatorNode& node, const Kernel& kernel);

// Leaves the candidates with the identity that is named for their node ("" where there are
// no candidates). FailedPrecondition, naming the node, where there is none.
absl::Status KeepKernels(const Graph& graph, absl::Span<const std::string> identities,
                         KernelCandidates& candidates);

// By node, the workspace of the candidate that needs least, among the candidates that are not much
// slower than the fastest, 0 where that is negligible; the order is chosen with them.
std::vector<int64_t> LeastWorkspace(const KernelCandidates& candidates);

// By node, the first candidate whose workspace fits under the peak that the graph has with the
// least workspace of candidates that are not much slower than the fastest, to the byte, or exceeds
// that peak by `extra` bytes at most. `live` is bytes live at each node's step without any
// workspace, by node.
std::vector<std::shared_ptr<const Kernel>> ChooseKernels(const KernelCandidates& candidates,
                                                         absl::Span<const int64_t> live,
                                                         int64_t extra);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_KERNEL_CHOICE_H_

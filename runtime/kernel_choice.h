// Which kernels could run each node, and which one does.
#ifndef ASHLAR_RUNTIME_KERNEL_CHOICE_H_
#define ASHLAR_RUNTIME_KERNEL_CHOICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/storage.h"
#include "runtime/device.h"

namespace ashlar {

// By node, the candidates, fastest first; empty where nothing has to run (constants, inputs, views,
// outputs written in place). Nodes with equal requests share their kernels.
using KernelCandidates = std::vector<std::vector<std::shared_ptr<const Kernel>>>;

// Unimplemented, naming the node, where the device has no kernel.
absl::StatusOr<KernelCandidates> FindKernels(const Graph& graph, const StorageModel& model,
                                             Device& device, int threads,
                                             const KernelPolicy& policy = {});

// Tells a kernel from the others for a node: what it is called, and how it wants constants packed.
std::string KernelIdentity(const Graph& graph, const OperatorNode& node, const Kernel& kernel);

// Leaves of the candidates the first with the identity that is named for its node ("" where there
// are no candidates). FailedPrecondition, naming the node, where there is none.
absl::Status KeepKernels(const Graph& graph, absl::Span<const std::string> identities,
                         KernelCandidates& candidates);

// The scratch of the candidate that needs least, by node, among those that are not much slower than
// the fastest: what the order is chosen with.
std::vector<int64_t> LeastWorkspace(const KernelCandidates& candidates);

// By node, the fastest candidate whose scratch fits under the peak that the graph has with least
// scratch. `live` is bytes live at each node's step without any scratch, by node.
std::vector<std::shared_ptr<const Kernel>> ChooseKernels(const KernelCandidates& candidates,
                                                         absl::Span<const int64_t> live);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_KERNEL_CHOICE_H_

// The weights of a comp node: one pool with every constant once in each layout that a kernel uses.
// Entries are in the order of their first readers. Equal (constant, layout) pairs share an entry.
// If there are plans for several shapes, equal bytes in equal layouts do as well (found by hash,
// then compared).
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_WEIGHTS_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/stages/weight_window.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// A constant in one layout.
struct WeightEntry {
  int var = 0;
  std::string key;     // Packing::key, or "" for row-major
  int64_t offset = 0;  // in the pool, bytes
  int64_t bytes = 0;
  std::shared_ptr<const Kernel> packer;  // null for row-major
  int packer_input = 0;
  // The same bytes in a file that holds them packed: they are read there, and the entry's place in
  // the pool is not touched. Null: to be packed.
  std::shared_ptr<const void> packed;
  bool elsewhere = false;  // ShareWeights: another plan's entry packs the same bytes in the same
                           // place
  // SharedPool: the equal constant of another plan, in the place of the graph's, which has no data.
  std::optional<HostTensor> equal;
};

// Returns the constant of an entry.
const HostTensor& ValueOf(const Graph& graph, const WeightEntry& entry);

struct WeightsPlan {
  std::vector<WeightEntry> entries;
  std::vector<std::vector<int>> by_input;  // [node][input]: entry, or -1 if not a constant
  int64_t bytes = 0;                       // of the pool
  // If the weights are streamed: then the pool is in a packed file, and only the window in memory.
  std::optional<WeightWindow> window;

  int64_t memory_bytes() const { return window ? window->bytes : bytes; }
  // Returns the offset of an entry in memory.
  int64_t offset(int entry) const {
    return window ? window->offsets[entry] : entries[entry].offset;
  }
};

// Plans the pool. `kernels` by node, null if none runs.
WeightsPlan PlanWeights(const Graph& graph, const StorageModel& model,
                        const std::vector<std::shared_ptr<const Kernel>>& kernels,
                        int64_t alignment);

// Returns the indices of the entries in the best order for packing, the largest first. An entry is
// in memory several times while it is packed; packing large ones early gives the smallest peak.
std::vector<int> PackingOrder(const WeightsPlan& plan);

// Returns the peak bytes of packing into the pool, the pool included. While an entry is packed, its
// constant is also in memory, and so is the source of a deferred constant. Constants that the graph
// owns stay until they are packed.
int64_t PackingPeak(const Graph& graph, const WeightsPlan& plan);

// Packs one entry into its bytes at `to` in the device's memory. Does nothing if another plan packs
// the bytes, or they are in a file.
absl::Status PackWeight(const Graph& graph, const WeightEntry& entry, Device& device, void* to);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_WEIGHTS_H_

// The weights of a comp node: one pool, every constant in the layout that its kernel wants, once.
// Places follow each other in the order of the first reader; equal (constant, layout) share one,
// and for several shapes equal bytes in equal layouts do (by hash, then compared).
#ifndef ASHLAR_RUNTIME_PLAN_WEIGHTS_H_
#define ASHLAR_RUNTIME_PLAN_WEIGHTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// A constant in one layout.
struct WeightEntry {
  int var = 0;
  std::string key;     // Packing::key, or "" for row-major
  int64_t offset = 0;  // in the pool, bytes
  int64_t bytes = 0;
  std::shared_ptr<const Kernel> packer;  // null for row-major
  int packer_input = 0;
  // The same bytes in a file that holds them packed: they are read there, and their place in the
  // pool is not touched. Null: they are to be packed.
  std::shared_ptr<const void> packed;
  bool elsewhere = false;  // ShareWeights: another plan's entry packs the same bytes there
};

struct WeightsPlan {
  std::vector<WeightEntry> entries;
  std::vector<std::vector<int>> by_input;  // [node][input]: entry, or -1 if no constant
  int64_t bytes = 0;                       // of the pool
};

// `kernels` by node, null where nothing runs.
WeightsPlan PlanWeights(const Graph& graph, const StorageModel& model,
                        const std::vector<std::shared_ptr<const Kernel>>& kernels,
                        int64_t alignment);

// Plans of one model at several shapes, whose weights become one pool: constants of equal bytes in
// an equal layout get one place. Afterwards each plan's offsets and its `bytes` are that
// pool's.
struct WeightsUser {
  const Graph* graph;
  WeightsPlan* plan;
};
void ShareWeights(absl::Span<const WeightsUser> users, int64_t alignment);

// Indices of the entries in the order in which they are best packed, the largest first: while one
// is packed it is in memory several times, and the more so the earlier is the least in all.
std::vector<int> PackingOrder(const WeightsPlan& plan);

// The most bytes that packing into the pool takes, with the pool: an entry that is packed has its
// constant beside it, in memory and, where that is deferred, as what it is computed from; and
// constants of graphs that own theirs are there until they are packed.
int64_t PackingPeak(const Graph& graph, const WeightsPlan& plan);

// Fills the place of one entry in the pool, `plan.bytes` at `pool` in the device's memory; nothing
// where the bytes are elsewhere, or in a file.
absl::Status PackWeight(const Graph& graph, const WeightEntry& entry, Device& device, void* pool);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_WEIGHTS_H_

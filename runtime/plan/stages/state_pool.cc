#include "runtime/plan/stages/state_pool.h"

#include "graph/region.h"

namespace ashlar {

const StateEntry* StatePool::Find(absl::string_view name) const {
  for (const StateEntry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const StateEntry* StatePool::Of(int var) const {
  for (const StateEntry& entry : entries) {
    if (entry.var == var) return &entry;
  }
  return nullptr;
}

StatePool PlanStates(const Graph& graph, const StorageModel& model, int64_t alignment) {
  StatePool pool;
  for (const Storage& storage : model.storages) {
    if (storage.pool != Pool::kState) continue;
    StateEntry entry;
    entry.name = graph.node(storage.producer).name;
    entry.var = storage.owner;
    entry.type = graph.var(storage.owner).type;
    entry.offset = RoundUp(pool.bytes, alignment);
    pool.bytes = entry.offset + storage.bytes;
    pool.entries.push_back(std::move(entry));
  }
  return pool;
}

}  // namespace ashlar

#include "memory/lifetimes.h"

#include <algorithm>
#include <iterator>

#include "memory/lower_bound.h"

namespace ashlar {
namespace {

using memory::Buffer;
using memory::Inside;

// Buffers that hold parts of the same memory, at offsets relative to each other.
class SharedMemory {
 public:
  explicit SharedMemory(size_t buffers) : peers_(buffers) {}

  void Relate(int inner, int outer, int64_t offset) {
    peers_[inner].push_back({outer, -offset});
    peers_[outer].push_back({inner, offset});
  }

  // Whether memory [offset, offset + size) of `buffer`, seen through any buffer that shares it, is
  // last used before `end`.
  bool DeadBy(const std::vector<Buffer>& buffers, int buffer, int64_t offset, int64_t size,
              int64_t end) const {
    std::vector<std::pair<int, int64_t>> stack = {{buffer, 0}};
    std::vector<int> seen = {buffer};
    while (!stack.empty()) {
      const auto [current, base] = stack.back();  // base: address relative to `buffer`
      stack.pop_back();
      const Buffer& b = buffers[current];
      const bool overlaps = base < offset + size && offset < base + b.size;
      if (overlaps && b.upper > end) return false;
      for (const auto& [peer, delta] : peers_[current]) {
        if (std::find(seen.begin(), seen.end(), peer) != seen.end()) continue;
        seen.push_back(peer);
        stack.push_back({peer, base + delta});
      }
    }
    return true;
  }

 private:
  std::vector<std::vector<std::pair<int, int64_t>>> peers_;
};

// What lies inside of another buffer is as aligned as that one and the offset in it allow.
void AlignBuffers(int64_t alignment, memory::Problem& problem) {
  for (Buffer& buffer : problem.buffers) buffer.alignment = alignment;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inside& relation : problem.inside) {
      int64_t implied = problem.buffers[relation.outer].alignment;
      if (relation.offset % implied != 0) implied = relation.offset & -relation.offset;
      Buffer& inner = problem.buffers[relation.inner];
      changed = changed || inner.alignment > implied;
      inner.alignment = std::min(inner.alignment, implied);
    }
  }
}

}  // namespace

Lifetimes ComputeLifetimes(const Graph& graph, const StorageModel& model,
                           absl::Span<const int> order, absl::Span<const int64_t> workspace,
                           int64_t alignment, int64_t guard) {
  Lifetimes result;
  std::vector<Buffer>& buffers = result.problem.buffers;
  std::vector<int64_t> step(graph.nodes().size(), -1);
  for (size_t i = 0; i < order.size(); ++i) step[order[i]] = static_cast<int64_t>(i);

  result.storage_buffer.assign(model.storages.size(), -1);
  for (size_t s = 0; s < model.storages.size(); ++s) {
    const Storage& storage = model.storages[s];
    if (storage.pool != Pool::kArena) continue;
    Buffer buffer;
    buffer.id = graph.var(storage.owner).id;
    buffer.lower = step[storage.producer];
    buffer.upper = buffer.lower + 1;
    for (int reader : storage.readers) buffer.upper = std::max(buffer.upper, step[reader] + 1);
    buffer.size = storage.bytes;
    result.storage_buffer[s] = static_cast<int>(buffers.size());
    buffers.push_back(buffer);
  }
  result.workspace_buffer.assign(graph.nodes().size(), -1);
  for (int node : order) {
    if (workspace[node] == 0) continue;
    Buffer buffer;
    buffer.id = graph.var(graph.node(node).outputs.back()).id;
    buffer.lower = step[node];
    buffer.upper = buffer.lower + 1;
    buffer.size = workspace[node];
    result.workspace_buffer[node] = static_cast<int>(buffers.size());
    buffers.push_back(buffer);
  }

  for (Buffer& buffer : buffers) buffer.size += guard;
  for (int node : order) {
    for (const Placement& placement : model.placements[node]) {
      buffers[result.storage_buffer[placement.inner]].size -= guard;
    }
  }

  // Placements first: they bind whatever the order is. A placed part may not be read after its
  // whole is overwritten, nor the other way round; DeadBy sees to that.
  SharedMemory shared(buffers.size());
  std::vector<bool> inner_taken(buffers.size(), false);
  const auto relate = [&](int inner, int outer, int64_t offset) {
    result.problem.inside.push_back(Inside{inner, outer, offset});
    shared.Relate(inner, outer, offset);
    inner_taken[inner] = true;
  };
  for (int node : order) {
    for (const Placement& placement : model.placements[node]) {
      relate(result.storage_buffer[placement.inner], result.storage_buffer[placement.outer],
             placement.offset);
    }
  }
  std::vector<bool> overwritten(buffers.size(), false);
  for (int node : order) {
    if (model.overwrites[node].empty()) continue;
    const int output = result.storage_buffer[model.views[graph.node(node).outputs[0]].storage];
    if (inner_taken[output]) continue;  // already has its place
    for (const Overwrite& candidate : model.overwrites[node]) {
      const int target = result.storage_buffer[candidate.storage];
      if (overwritten[target] || !shared.DeadBy(buffers, target, candidate.offset,
                                                buffers[output].size, buffers[output].lower + 1)) {
        continue;
      }
      overwritten[target] = true;
      relate(output, target, candidate.offset);
      ++result.num_overwrites;
      break;
    }
  }
  AlignBuffers(alignment, result.problem);
  return result;
}

Lifetimes WithoutNeedlessOverwrites(const Lifetimes& lifetimes, int64_t bound) {
  Lifetimes result = lifetimes;
  std::vector<Inside>& inside = result.problem.inside;
  const std::vector<Buffer>& buffers = lifetimes.problem.buffers;
  const absl::StatusOr<std::vector<memory::LiveBytes>> profile =
      memory::LiveProfile(lifetimes.problem);
  if (!profile.ok()) return result;
  int64_t alignment = 1;
  for (const Buffer& b : buffers) alignment = std::max(alignment, b.alignment);
  const auto needless = [&](const Inside& relation) {
    // Both live in the step of the output's birth only, and no other overwrite happens in it.
    const Buffer& output = buffers[relation.inner];
    const auto after = std::upper_bound(
        profile->begin(), profile->end(), output.lower,
        [](int64_t step, const memory::LiveBytes& entry) { return step < entry.step; });
    return std::prev(after)->bytes + output.size <= bound;
  };
  inside.erase(std::remove_if(inside.end() - lifetimes.num_overwrites, inside.end(), needless),
               inside.end());
  result.num_overwrites -=
      static_cast<int>(lifetimes.problem.inside.size()) - static_cast<int>(inside.size());
  AlignBuffers(alignment, result.problem);
  return result;
}

}  // namespace ashlar

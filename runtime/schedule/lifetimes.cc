#include "runtime/schedule/lifetimes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "memory/heuristics/rounds.h"
#include "memory/problem/instance.h"
#include "memory/problem/lower_bound.h"
#include "runtime/schedule/alignment.h"

namespace ashlar {
namespace {

using memory::Buffer;
using memory::Inside;

// A storage that is computed at most this many steps before its whole does not count as waiting: in
// between, other operands of the whole are computed.
constexpr int64_t kLongestMaking = 4;

// Buffers that share memory, at offsets relative to each other. A disjoint-set forest in which each
// buffer knows its offset in its parent.
class SharedMemory {
 public:
  explicit SharedMemory(size_t buffers) : links_(buffers), whole_(buffers, -1), read_by_(buffers) {
    for (size_t i = 0; i < buffers; ++i) {
      links_[i].parent = static_cast<int>(i);
      links_[i].alive = {static_cast<int>(i)};
    }
  }

  // Places `inner` at `offset` of `outer`.
  void Relate(int inner, int outer, int64_t offset) {
    const auto [a, base_a] = Find(inner);
    const auto [b, base_b] = Find(outer);
    if (a == b) return;
    const int64_t a_in_b = base_b + offset - base_a;
    if (links_[a].size <= links_[b].size) {
      Join(a, b, a_in_b);
    } else {
      Join(b, a, -a_in_b);
    }
  }

  // Relates a sub-buffer to its whole: reading the whole reads it.
  void RelatePart(int part, int whole, int64_t offset) {
    Relate(part, whole, offset);
    whole_[part] = whole;
  }

  // Sets the buffers that step `step` reads; -1 is none. Steps come in their order.
  void SetRead(absl::Span<const int> read, int64_t step) {
    end_ = step + 1;
    for (const int buffer : read) {
      if (buffer >= 0) read_by_[buffer] = end_;
    }
  }

  // Returns whether memory [offset, offset + size) of `buffer` is last used in this step, through
  // any buffer that shares it. No buffer read in this step, except `buffer` itself and its
  // sub-buffers, may overlap it.
  bool IsDead(const std::vector<Buffer>& buffers, int buffer, int64_t offset, int64_t size) {
    const auto [root, base] = Find(buffer);
    // Steps only grow, so buffers that were last used earlier are not checked again.
    std::vector<int>& alive = links_[root].alive;
    looks_ += static_cast<int64_t>(alive.size());
    std::erase_if(alive, [&](int other) { return buffers[other].upper < end_; });
    return std::none_of(alive.begin(), alive.end(), [&](int other) {
      const Buffer& b = buffers[other];
      const int64_t at = Find(other).second - base;
      const bool overlaps = at < offset + size && offset < at + b.size;
      const bool is_it = other == buffer || whole_[other] == buffer;
      return overlaps && (b.upper > end_ || (read_by_[other] == end_ && !is_it));
    });
  }

  int64_t looks() const { return looks_; }

 private:
  struct Link {
    int parent = 0;
    int64_t offset = 0;      // in the parent
    int64_t size = 1;        // for a root: number of buffers in its set
    std::vector<int> alive;  // for a root: the buffers of its set that may still be used
  };

  // Returns the root of the buffer's set, and the buffer's offset in it.
  std::pair<int, int64_t> Find(int buffer) const {
    int64_t offset = 0;
    for (; links_[buffer].parent != buffer; buffer = links_[buffer].parent) {
      offset += links_[buffer].offset;
    }
    return {buffer, offset};
  }

  void Join(int root, int parent, int64_t offset) {
    links_[root].parent = parent;
    links_[root].offset = offset;
    links_[parent].size += links_[root].size;
    std::vector<int>& alive = links_[parent].alive;
    alive.insert(alive.end(), links_[root].alive.begin(), links_[root].alive.end());
    links_[root].alive = {};
  }

  std::vector<Link> links_;
  std::vector<int> whole_;        // by buffer; -1 if it is not a sub-buffer
  std::vector<int64_t> read_by_;  // by buffer: the end of the last step that reads it
  int64_t end_ = 0;
  int64_t looks_ = 0;
};

// The bytes live at the steps of a problem; empty if the problem is malformed.
class Profile {
 public:
  explicit Profile(const memory::Problem& problem) {
    absl::StatusOr<std::vector<memory::LiveBytes>> profile = memory::LiveProfile(problem);
    if (profile.ok()) entries_ = *std::move(profile);
  }

  bool empty() const { return entries_.empty(); }
  int64_t At(int64_t step) const {
    const auto after = std::upper_bound(
        entries_.begin(), entries_.end(), step,
        [](int64_t at, const memory::LiveBytes& entry) { return at < entry.step; });
    return std::prev(after)->bytes;
  }

 private:
  std::vector<memory::LiveBytes> entries_;
};

// Returns whether the relation at an index is an overwrite; the others are placements.
bool IsOverwrite(const Lifetimes& lifetimes, size_t index) {
  return index + static_cast<size_t>(lifetimes.num_overwrites) >= lifetimes.problem.inside.size();
}

// Returns a number for each relation. With `alike`, relations that recur in each round of a problem
// (memory/heuristics/rounds.h) have equal numbers; otherwise each has its own. Images that share
// memory in different ways cannot be planned as one round.
std::vector<int> KindsOfRelations(const memory::Problem& problem, bool alike) {
  const size_t count = problem.inside.size();
  std::vector<int> kinds(count);
  for (size_t i = 0; i < count; ++i) kinds[i] = static_cast<int>(i);
  if (!alike) return kinds;
  const absl::StatusOr<memory::Instance> instance = memory::Instance::Create(problem);
  if (!instance.ok()) return kinds;
  const std::optional<memory::FoldedInstance> round =
      memory::FoldRounds(*instance, memory::ComputeLowerBound(*instance).bytes);
  if (!round) return kinds;
  std::vector<int> seen(instance->groups(), 0);  // relations of a group
  std::map<std::pair<int32_t, int>, int> first;  // by group of the round, and number in it
  for (size_t i = 0; i < count; ++i) {
    const int group = instance->group_of(problem.inside[i].inner);
    const std::pair key(round->folded_of[group], seen[group]++);
    kinds[i] = first.try_emplace(key, kinds[i]).first->second;
  }
  return kinds;
}

}  // namespace

Lifetimes ComputeLifetimes(const Graph& graph, const StorageModel& model,
                           absl::Span<const int> order, absl::Span<const int64_t> workspace,
                           int64_t alignment, int64_t guard) {
  Lifetimes result;
  std::vector<Buffer>& buffers = result.problem.buffers;
  std::vector<int64_t> step(graph.nodes().size(), -1);
  for (size_t i = 0; i < order.size(); ++i) step[order[i]] = static_cast<int64_t>(i);

  std::vector<int> moved;  // buffers that die one step before they are last read
  result.storage_buffer.assign(model.storages.size(), -1);
  for (size_t s = 0; s < model.storages.size(); ++s) {
    const Storage& storage = model.storages[s];
    if (storage.pool != Pool::kArena) continue;
    Buffer buffer;
    buffer.id = graph.var(storage.owner).id;
    const bool is_input = graph.node(storage.producer).op->role() == Role::kInput;
    buffer.lower = is_input ? 0 : step[storage.producer];
    buffer.upper = buffer.lower + 1;
    int64_t read_until = buffer.upper;
    for (int reader : storage.readers) {
      read_until = std::max(read_until, step[reader] + 1);
      buffer.upper = std::max(buffer.upper, step[reader] + (reader == storage.mover ? 0 : 1));
    }
    buffer.size = storage.bytes;
    result.storage_buffer[s] = static_cast<int>(buffers.size());
    if (read_until > buffer.upper) moved.push_back(result.storage_buffer[s]);
    buffers.push_back(buffer);
  }
  result.workspace_buffer.assign(graph.nodes().size(), -1);
  for (int node : order) {
    if (workspace[node] == 0) continue;
    Buffer buffer;
    buffer.id = graph.node(node).workspace_id();
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
    for (const Placement& part : model.parts[node]) {
      buffers[result.storage_buffer[part.inner]].size -= guard;
    }
  }

  // Placements first: they hold for every order. A placed storage may not be read after its whole
  // is overwritten, nor the reverse; IsDead ensures this.
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
  for (int node : order) {
    for (const Placement& part : model.parts[node]) {
      const int inner = result.storage_buffer[part.inner];
      const int outer = result.storage_buffer[part.outer];
      result.problem.inside.push_back(Inside{inner, outer, part.offset});
      shared.RelatePart(inner, outer, part.offset);
    }
  }
  // Only what nobody reads later is overwritten.
  for (const int buffer : moved) ++buffers[buffer].upper;
  std::vector<bool> overwritten(buffers.size(), false);
  for (int node : order) {
    if (model.overwrites[node].empty()) continue;
    std::vector<int> read;
    for (int storage : model.reads[node]) read.push_back(result.storage_buffer[storage]);
    shared.SetRead(read, step[node]);
    for (const Overwrite& candidate : model.overwrites[node]) {
      const int output = result.storage_buffer[candidate.made];
      if (inner_taken[output]) continue;  // already has its place
      const int target = result.storage_buffer[candidate.storage];
      // A buffer inside another one has no guard, so an output that overwrites it has none either.
      int64_t& size = buffers[output].size;
      const int64_t guarded = size;
      if (candidate.offset + size > buffers[target].size) size -= guard;
      if (overwritten[target] || !shared.IsDead(buffers, target, candidate.offset, size)) {
        size = guarded;
        continue;
      }
      overwritten[target] = true;
      relate(output, target, candidate.offset);
      ++result.num_overwrites;
    }
  }
  for (const int buffer : moved) --buffers[buffer].upper;
  result.looks = shared.looks();
  AlignBuffers(alignment, result.problem);
  return result;
}

Lifetimes KeepRelations(const Lifetimes& lifetimes, const std::vector<bool>& kept) {
  Lifetimes result = lifetimes;
  const std::vector<Inside>& all = lifetimes.problem.inside;
  const size_t first_overwrite = all.size() - static_cast<size_t>(lifetimes.num_overwrites);
  result.problem.inside.clear();
  result.num_overwrites = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!kept[i]) continue;
    result.problem.inside.push_back(all[i]);
    result.num_overwrites += i >= first_overwrite;
  }
  int64_t alignment = 1;
  for (const Buffer& buffer : result.problem.buffers) {
    alignment = std::max(alignment, buffer.alignment);
  }
  AlignBuffers(alignment, result.problem);
  return result;
}

Lifetimes WithoutNeedlessOverwrites(const Lifetimes& lifetimes, int64_t bound) {
  const std::vector<Buffer>& buffers = lifetimes.problem.buffers;
  const Profile live(lifetimes.problem);
  if (live.empty()) return lifetimes;
  const auto needless = [&](const Inside& relation) {
    // Both are live only in the step that produces the output, which has no other overwrite.
    const Buffer& output = buffers[relation.inner];
    return live.At(output.lower) + output.size <= bound;
  };
  const std::vector<Inside>& inside = lifetimes.problem.inside;
  std::vector<bool> kept(inside.size(), true);
  for (size_t i = 0; i < inside.size(); ++i) {
    if (IsOverwrite(lifetimes, i)) kept[i] = !needless(inside[i]);
  }
  return KeepRelations(lifetimes, kept);
}

Lifetimes WithoutWaitingPlacements(const Lifetimes& lifetimes, int64_t bound, bool alike) {
  const std::vector<Buffer>& buffers = lifetimes.problem.buffers;
  const Profile live(lifetimes.problem);
  if (live.empty()) return lifetimes;
  const std::vector<int> kinds = KindsOfRelations(lifetimes.problem, alike);
  std::vector<bool> stays(kinds.size(), false);  // by kind
  std::vector<int> going;                        // relations to remove
  std::map<int64_t, int64_t> copied;             // by step: bytes that are then live twice
  for (size_t i = 0; i < kinds.size(); ++i) {
    const Inside& relation = lifetimes.problem.inside[i];
    const Buffer &part = buffers[relation.inner], &whole = buffers[relation.outer];
    // A part that the whole moves is not live twice.
    const bool is_moved = part.upper == whole.lower;
    const bool copied_at_once = is_moved || part.upper == whole.lower + 1;
    if (IsOverwrite(lifetimes, i) || !copied_at_once ||
        whole.lower - part.lower <= kLongestMaking) {
      continue;
    }
    int64_t& others = copied[whole.lower];
    const int64_t twice = is_moved ? 0 : part.size;
    if (live.At(whole.lower) + others + twice > bound) {
      stays[kinds[i]] = true;
    } else {
      others += twice;
      going.push_back(static_cast<int>(i));
    }
  }
  std::vector<bool> kept(kinds.size(), true);
  for (const int i : going) kept[i] = stays[kinds[i]];
  return KeepRelations(lifetimes, kept);
}

}  // namespace ashlar

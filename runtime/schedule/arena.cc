#include "runtime/schedule/arena.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "runtime/schedule/sort_unique.h"

namespace ashlar {
namespace {

// The place of a storage in its tree of placements.
struct Place {
  int parent = -1;
  int root = 0;
  int64_t offset = 0;  // bytes from the start of the root
};

// By storage. `order`: all storages, each after the one that it is placed in, else the last first.
std::vector<Place> FindPlaces(const StorageModel& model, std::vector<int>& order) {
  std::vector<Place> places(model.storages.size());
  for (const auto* const lists : {&model.placements, &model.parts}) {
    for (const std::vector<Placement>& placements : *lists) {
      for (const Placement& p : placements) places[p.inner] = {p.outer, 0, p.offset};
    }
  }
  std::vector<bool> found(places.size(), false);
  for (int s = static_cast<int>(places.size()) - 1; s >= 0; --s) {
    std::vector<int> above;
    for (int at = s; at >= 0 && !found[at]; at = places[at].parent) above.push_back(at);
    for (; !above.empty(); above.pop_back()) {
      const int at = above.back();
      Place& place = places[at];
      place.root = place.parent < 0 ? at : places[place.parent].root;
      if (place.parent >= 0) place.offset += places[place.parent].offset;
      found[at] = true;
      order.push_back(at);
    }
  }
  return places;
}

}  // namespace

ArenaSimulator::ArenaSimulator(const Graph& graph, const StorageModel& model,
                               absl::Span<const int64_t> workspace)
    : parts_(model.storages.size()),
      trees_of_(graph.nodes().size()),
      workspace_(workspace.begin(), workspace.end()),
      overwrites_(graph.nodes().size()),
      progress_(graph.nodes().size(), Progress::kPending),
      covered_(model.storages.size()) {
  std::vector<int> outer_first;
  const std::vector<Place> places = FindPlaces(model, outer_first);
  std::vector<int> tree_of(parts_.size(), -1);
  for (const int s : outer_first) {
    const Storage& storage = model.storages[s];
    parts_[s] = {storage.bytes, storage.producer, places[s].parent, storage.readers, storage.mover};
    if (storage.pool != Pool::kArena) continue;
    if (places[s].parent < 0) {
      tree_of[s] = static_cast<int>(trees_.size());
      trees_.emplace_back();
    } else {
      tree_of[s] = tree_of[places[s].root];
    }
    trees_[tree_of[s]].push_back(s);
  }
  for (size_t node = 0; node < trees_of_.size(); ++node) {
    for (const std::vector<int>* storages : {&model.reads[node], &model.writes[node]}) {
      for (int s : *storages) {
        if (tree_of[s] >= 0) trees_of_[node].push_back(tree_of[s]);
      }
    }
    SortUnique(trees_of_[node]);
    absl::flat_hash_set<int> read;
    if (!model.overwrites[node].empty()) {
      read.insert(model.reads[node].begin(), model.reads[node].end());
    }
    for (const Overwrite& candidate : model.overwrites[node]) {
      const int made = candidate.made;
      if (places[made].parent >= 0) continue;  // its address is bound already
      const int64_t begin = places[candidate.storage].offset + candidate.offset;
      std::vector<int> needs;
      bool reads_it_twice = false;  // through another storage, while it is overwritten
      for (int s : trees_[tree_of[candidate.storage]]) {
        const int64_t bottom = places[s].offset;
        if (bottom >= begin + parts_[made].bytes || bottom + parts_[s].bytes <= begin) continue;
        const bool is_it = s == candidate.storage || model.storages[s].whole == candidate.storage;
        reads_it_twice |= !is_it && read.contains(s);
        needs.push_back(parts_[s].producer);
        needs.insert(needs.end(), parts_[s].readers.begin(), parts_[s].readers.end());
      }
      if (reads_it_twice) continue;
      SortUnique(needs);
      needs.erase(std::remove(needs.begin(), needs.end(), static_cast<int>(node)), needs.end());
      overwrites_[node].push_back({made, candidate.storage, std::move(needs)});
    }
  }
  // Inputs in the arena are there before the first step.
  std::vector<int> given;
  for (size_t node = 0; node < trees_of_.size(); ++node) {
    if (graph.node(static_cast<int>(node)).op->role() != Role::kInput) continue;
    progress_[node] = Progress::kRun;
    given.insert(given.end(), trees_of_[node].begin(), trees_of_[node].end());
    trees_of_[node].clear();
  }
  live_ = LiveBytesIn(given);
}

bool ArenaSimulator::IsLive(const Part& part, int running) const {
  if (progress_[part.producer] != Progress::kRun) return false;
  for (int reader : part.readers) {
    const bool is_moved = reader == running && reader == part.mover;
    if (progress_[reader] == Progress::kPending && !is_moved) return true;
  }
  return false;
}

int64_t ArenaSimulator::LiveBytes(const Tree& tree, int running) const {
  int64_t bytes = 0;
  for (int s : tree) {
    const Part& part = parts_[s];
    covered_[s] = part.parent >= 0 && covered_[part.parent];
    if (covered_[s] || !(part.producer == running || IsLive(part, running))) continue;
    covered_[s] = true;
    bytes += part.bytes;
  }
  return bytes;
}

int64_t ArenaSimulator::OverwrittenBytes(int node) const {
  const std::vector<Candidate>& candidates = overwrites_[node];
  int64_t bytes = 0;
  absl::InlinedVector<const Candidate*, 2> taken;
  for (const Candidate& candidate : candidates) {
    const bool is_free = std::none_of(taken.begin(), taken.end(), [&](const Candidate* other) {
      return other->made == candidate.made || other->storage == candidate.storage;
    });
    if (!is_free || std::any_of(candidate.needs.begin(), candidate.needs.end(), [&](int other) {
          return progress_[other] == Progress::kPending;
        })) {
      continue;
    }
    taken.push_back(&candidate);
    bytes += parts_[candidate.made].bytes;
  }
  return bytes;
}

int64_t ArenaSimulator::Run(int node) {
  int64_t before = 0;
  int64_t during = 0;
  int64_t after = 0;
  for (int tree : trees_of_[node]) {
    before += LiveBytes(trees_[tree], -1);
    during += LiveBytes(trees_[tree], node);
  }
  progress_[node] = Progress::kRun;
  for (int tree : trees_of_[node]) after += LiveBytes(trees_[tree], -1);
  during -= OverwrittenBytes(node);
  const int64_t step = live_ + during - before + workspace_[node];
  live_ += after - before;
  return step;
}

void ArenaSimulator::Undo(absl::Span<const int> nodes, int64_t live) {
  for (int node : nodes) progress_[node] = Progress::kPending;
  live_ = live;
}

std::vector<int> ArenaSimulator::TreesOf(absl::Span<const int> nodes) const {
  std::vector<int> trees;
  for (int node : nodes) {
    trees.insert(trees.end(), trees_of_[node].begin(), trees_of_[node].end());
  }
  SortUnique(trees);
  return trees;
}

int64_t ArenaSimulator::LiveBytesIn(absl::Span<const int> trees) const {
  int64_t bytes = 0;
  for (int tree : trees) bytes += LiveBytes(trees_[tree], -1);
  return bytes;
}

int64_t SimulatePeak(const Graph& graph, const StorageModel& model, absl::Span<const int> order,
                     absl::Span<const int64_t> workspace) {
  ArenaSimulator arena(graph, model, workspace);
  int64_t peak = 0;
  for (int node : order) peak = std::max(peak, arena.Run(node));
  return peak;
}

}  // namespace ashlar

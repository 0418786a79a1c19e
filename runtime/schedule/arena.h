// Live arena bytes while nodes run in any order, updated incrementally: each step recounts only the
// trees of placed storages that its node reads or writes.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ARENA_H_
#define ASHLAR_RUNTIME_SCHEDULE_ARENA_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// Simulates the rule of runtime/schedule/lifetimes.h as a function of the set of nodes that have
// run.
//
// A storage is live from the step of its producer to the step of its last reader, exclusive if that
// moves it; an input in the
// arena is live from the start, when its node counts as run. A placed storage costs nothing while
// its whole is live. So live bytes are summed over trees of placements: a live root counts for all
// storages in it. An output that overwrites dying memory costs nothing in its own step. Whether it
// may overwrite depends on which readers have run, not on their order. When memory is overwritten,
// nothing else in it is live, so later steps need not consider it.
//
// Therefore live() depends only on the set of nodes that have run. The bytes that running a node
// adds never grow when other nodes run first (submodularity). The searches rely on both.
class ArenaSimulator {
 public:
  // kUnknown: may have run or not. Bytes that depend on it count as not live, and as free to
  // overwrite.
  enum class Progress : uint8_t { kPending, kRun, kUnknown };

  ArenaSimulator(const Graph& graph, const StorageModel& model,
                 absl::Span<const int64_t> workspace);

  // Returns whether a node's place in the order can matter: it reads or writes the arena, or needs
  // workspace.
  bool Touches(int node) const { return !trees_of_[node].empty() || workspace_[node] > 0; }

  Progress progress(int node) const { return progress_[node]; }
  bool HasRun(int node) const { return progress_[node] == Progress::kRun; }
  // Bytes live after the nodes that have run; before the first, the inputs in the arena.
  int64_t live() const { return live_; }

  // Runs a pending node; returns the bytes live during its step.
  int64_t Run(int node);
  // Undoes the run of `nodes`; live() was `live` before they ran.
  void Undo(absl::Span<const int> nodes, int64_t live);

  // Set another state directly: the progress of nodes, then the live bytes.
  void SetProgress(int node, Progress progress) { progress_[node] = progress; }
  void SetLive(int64_t live) { live_ = live; }

  // The most bytes of memory that one search for an order has taken.
  int64_t search_bytes() const { return search_bytes_; }
  void NoteSearch(int64_t bytes) { search_bytes_ = std::max(search_bytes_, bytes); }

  // Return the trees of placements that some nodes read or write, and their share of live().
  std::vector<int> TreesOf(absl::Span<const int> nodes) const;
  int64_t LiveBytesIn(absl::Span<const int> trees) const;

 private:
  struct Part {
    int64_t bytes = 0;
    int producer = 0;
    int parent = -1;  // the storage that contains it
    std::vector<int> readers;
    int mover = -1;  // Storage::mover
  };
  // Storage `made` may overwrite `storage` when the nodes `needs` have run.
  struct Candidate {
    int made = 0, storage = 0;
    std::vector<int> needs;
  };
  using Tree = std::vector<int>;  // storages, each after the one that contains it

  // `running`: see LiveBytes.
  bool IsLive(const Part& part, int running) const;
  // Returns the live bytes of a tree. Outputs of `running` count as live, and storages that it
  // moves as read (-1: no node runs).
  int64_t LiveBytes(const Tree& tree, int running) const;
  // Returns the bytes of `node`'s outputs that overwrite dead memory.
  int64_t OverwrittenBytes(int node) const;

  std::vector<Part> parts_;                         // by storage
  std::vector<Tree> trees_;                         // the trees in the arena
  std::vector<std::vector<int>> trees_of_;          // by node: trees that it reads or writes
  std::vector<int64_t> workspace_;                  // by node
  std::vector<std::vector<Candidate>> overwrites_;  // by node: for each output the best first
  std::vector<Progress> progress_;                  // by node
  int64_t live_ = 0;
  int64_t search_bytes_ = 0;
  mutable std::vector<char> covered_;  // by storage: counted by LiveBytes, itself or in its parent
};

// Returns the peak of a whole order.
int64_t SimulatePeak(const Graph& graph, const StorageModel& model, absl::Span<const int> order,
                     absl::Span<const int64_t> workspace);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ARENA_H_

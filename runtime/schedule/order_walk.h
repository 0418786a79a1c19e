// The state space of the searches over orders: sets of tasks that can have run.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_
#define ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/chunked.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {

// A walk over states. A state is a set of tasks of one segment that have run; all earlier segments
// have run, and no later one. States can be saved and restored.
//
// After each step it also takes every free step: a run of tasks that stays within the budget and
// ends with at most the live bytes that it began with. At any point in between, more are live. An
// order of least peak stays reachable: take one within the budget, and move such a run of tasks to
// its front. A task adds no more bytes after others than before them, so no later step gets larger.
class OrderWalk {
 public:
  // Starts before a segment; `arena` is at that state, and is restored to it in the end.
  OrderWalk(ArenaSimulator& arena, const TaskGraph& graph, int segment);
  ~OrderWalk();
  OrderWalk(const OrderWalk&) = delete;
  OrderWalk& operator=(const OrderWalk&) = delete;

  // Tasks that can run; the most recently ready ones are at the end.
  const std::vector<int>& ready() const { return ready_; }
  int num_run() const { return num_run_; }
  bool done() const { return num_run_ == static_cast<int>(tasks_.size()); }
  int64_t live() const { return arena_.live(); }
  // Bytes of the largest step since the start.
  int64_t peak() const { return peak_; }
  // Returns the tasks in the order in which they ran.
  std::vector<int> Path() const;
  // Effort so far: steps tried, and comparable amounts of memory written.
  int64_t effort() const { return effort_; }

  // Returns the bytes live during a ready task if it ran now.
  int64_t StepBytes(int task);
  // Runs a ready task, then the tasks that are free within `budget` bytes, or within the peak so
  // far if that is larger.
  void Advance(int task, int64_t budget);
  // Takes only the free steps.
  void Settle(int64_t budget);

  // Saves this state and returns its index, ascending from 0; -1 if the same set was saved before.
  int Save();
  // Restores a saved state.
  void Load(int state);

  // Counts bytes that the search takes besides the walk (ArenaSimulator::search_bytes).
  void AddBytes(int64_t bytes) { more_bytes_ += bytes; }

 private:
  struct State {
    int parent = -1;
    // In saved_: the moves from the parent, then the ready tasks. The effort keeps them small.
    uint32_t moves_begin = 0, moves_end = 0, ready_end = 0;
    int num_run = 0;
    int64_t live = 0;
    int64_t peak = 0;
  };
  // States are compared by their sets, which are in keys_.
  struct KeyHash {
    const OrderWalk* walk;
    size_t operator()(int state) const;
  };
  struct KeyEqual {
    const OrderWalk* walk;
    bool operator()(int a, int b) const;
  };

  uint64_t KeyWord(int state, size_t word) const { return keys_[state * words_ + word]; }
  bool CanRun(int task) const;
  // Takes the free tasks among the neighbors of the moves from index `first` on.
  void TakeFree(size_t first, int64_t budget);
  // Runs `task`, then the tasks that become ready while there is only one choice, until the live
  // bytes have fallen to their value before. Otherwise undoes all and returns false.
  bool TryRun(int task, int64_t budget);
  void Commit(absl::Span<const int> range);

  ArenaSimulator& arena_;
  const TaskGraph& graph_;
  const int segment_;
  const std::vector<int>& tasks_;
  const int64_t live_before_;
  const size_t words_;

  int at_ = -1;             // the state that moves_ starts from; -1: the start
  std::vector<int> moves_;  // since then
  std::vector<int> ready_;
  int num_run_ = 0;
  int64_t peak_ = 0;
  int64_t effort_ = 0;

  int64_t more_bytes_ = 0;
  Chunked<State> states_;
  Chunked<uint64_t> keys_;
  Chunked<int> saved_;
  absl::flat_hash_set<int, KeyHash, KeyEqual> known_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_

// A walk through the sets of tasks that can have run, on which searches over orders move.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_
#define ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {

// Stands at a state: a set of tasks of one segment that have run, the earlier segments having run
// and the later ones not. States can be saved and returned to.
//
// After each step it also takes every step that is free: a stretch of tasks that stays within the
// budget and ends with no more live bytes than it began with, less than at any point in between. An
// order of least peak remains reachable: take one within the budget, and move such a stretch to its
// front. As running a task adds no more after others than before them, no later step gets larger.
class OrderWalk {
 public:
  // Starts before a segment; `arena` stands there, and is returned there in the end.
  OrderWalk(ArenaSimulator& arena, const TaskGraph& graph, int segment);
  ~OrderWalk();
  OrderWalk(const OrderWalk&) = delete;
  OrderWalk& operator=(const OrderWalk&) = delete;

  // Tasks that can run, the tasks that became ready latest at the end.
  const std::vector<int>& ready() const { return ready_; }
  int num_run() const { return num_run_; }
  bool done() const { return num_run_ == static_cast<int>(tasks_.size()); }
  int64_t live() const { return arena_.live(); }
  // Bytes of the largest step on the way here.
  int64_t peak() const { return peak_; }
  // The way here: tasks in the order in which they ran.
  std::vector<int> Path() const;
  // Effort so far, in steps tried and comparable amounts of memory written.
  int64_t effort() const { return effort_; }

  // Bytes that a ready task would need if it ran now.
  int64_t StepBytes(int task);
  // Runs a ready task, then the tasks that are free within `budget` bytes, or within the peak if
  // that is more.
  void Advance(int task, int64_t budget);
  // The free steps alone.
  void Settle(int64_t budget);

  // Saves this state and returns its index, ascending from 0; -1 if the same set was saved before.
  int Save();
  // Goes to a saved state.
  void Load(int state);

 private:
  struct State {
    int parent = -1;
    size_t moves_begin = 0, moves_end = 0;  // in saved_, the way from the parent
    size_t ready_begin = 0, ready_end = 0;  // in saved_
    int num_run = 0;
    int64_t live = 0;
    int64_t peak = 0;
  };
  // States are compared by their sets, which lie in keys_.
  struct KeyHash {
    const OrderWalk* walk;
    size_t operator()(int state) const;
  };
  struct KeyEqual {
    const OrderWalk* walk;
    bool operator()(int a, int b) const;
  };

  absl::Span<const uint64_t> KeyOf(int state) const {
    return absl::MakeConstSpan(keys_).subspan(state * words_, words_);
  }
  bool CanRun(int task) const;
  // Takes the free tasks among the neighbors of the moves from `first` on.
  void TakeFree(size_t first, int64_t budget);
  // Runs `task`, then what it makes ready while there is only one way on, until the live bytes have
  // fallen to what they were; if they do not, takes all back and returns false.
  bool TryRun(int task, int64_t budget);
  void Commit(absl::Span<const int> stretch);

  ArenaSimulator& arena_;
  const TaskGraph& graph_;
  const int segment_;
  const std::vector<int>& tasks_;
  const int64_t live_before_;
  const size_t words_;

  int at_ = -1;             // the state that moves_ began from; -1: the start
  std::vector<int> moves_;  // since then
  std::vector<int> ready_;
  int num_run_ = 0;
  int64_t peak_ = 0;
  int64_t effort_ = 0;

  std::vector<State> states_;
  std::vector<uint64_t> keys_;
  std::vector<int> saved_;
  absl::flat_hash_set<int, KeyHash, KeyEqual> known_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ORDER_WALK_H_

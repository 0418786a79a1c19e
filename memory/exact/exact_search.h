// Branch and bound over plans filled from the bottom: a depth-first search as in Moffitt 2023,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", with
// branching rules of our own.
#ifndef ASHLAR_MEMORY_EXACT_EXACT_SEARCH_H_
#define ASHLAR_MEMORY_EXACT_EXACT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "memory/exact/exact_state.h"
#include "memory/problem/instance.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// The section to branch on next.
enum class BranchRule {
  kBalanced,                // few choices and little room to waste; earlier if much failed
  kFewestOptionsByFailure,  // few choices; earlier if much failed
  kLeastSlack,              // little room to waste, then few choices
};
inline constexpr BranchRule kBranchRules[] = {
    BranchRule::kBalanced, BranchRule::kFewestOptionsByFailure, BranchRule::kLeastSlack};

enum class SearchOutcome {
  kFound,      // bases() fit the capacity
  kExhausted,  // nothing fits the capacity; a proof only if the search is complete
  kGaveUp,     // out of nodes or work
};

// Searches for a plan within a capacity by filling the arena from the bottom, with backtracking.
//
// The skyline is the height to which each section is filled. Take any section in a valley, a range
// lower than both its sides. Consider plans in which every group has sunk as low as possible. There
// are two cases:
// - The next group of that section stands on the valley's floor. Then it lies within the valley.
// - No group stands there. Then the section is closed: its floor rises to the next height at which
//   something can end beside it, or to a fixed group above.
//
// These choices exclude each other and cover all plans, so the section with the fewest choices may
// be taken first.
//
// A branch is dead in three cases: ExactState says so; a hole remains into which a remaining group
// would fit; or of two groups with the same life, the smaller lies directly under the larger.
// Ranges of time that no remaining group connects are solved separately.
//
// A group waits if its alignment puts it above the floor and a remaining group fits into the hole
// below. It is placed after the hole is filled.
//
// The search is complete if no group pauses in time and alignments are kept.
class ExactSearch {
 public:
  // Returns whether the search can handle the instance: all groups without fixed base are flat, and
  // there are not too many of them.
  static bool Accepts(const Instance& instance);

  // Returns whether kRounded is worth trying in addition to kKept.
  static bool RoundingMatters(const Instance& instance);

  ExactSearch(const Instance& instance, Alignment alignment)
      : instance_(instance), state_(instance, alignment) {}

  bool complete() const { return state_.complete(); }
  // Returns the smallest arena above `capacity`, in bytes, that a plan of this search can have.
  int64_t NextArena(int64_t capacity) const { return state_.NextArena(capacity); }

  // `rank`: the position of each group in the order in which choices are tried.
  SearchOutcome Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                    int64_t node_limit, Work& work, int64_t deadline);

  const std::vector<int64_t>& bases() const { return state_.bases(); }
  int64_t nodes() const { return nodes_; }  // of the last run

 private:
  using Item = ExactState::Item;
  using Life = ExactState::Life;
  using Level = ExactState::Level;
  using Part = ExactState::Part;
  struct Choice {
    int32_t section = -1;
    bool may_close = false;
    Level closed_level = 0;
  };

  bool Solve(Part part);
  bool SolveParts(const Part& part);
  bool FillValleys(const Part& part);
  void Spend(int64_t units) const { work_->Spend(units); }
  void FindCandidates(const Part& part);
  bool StandsOnSomething(const Life& life, int64_t base) const;
  bool HasPinBelow(const Life& life, int64_t base) const;
  bool LeavesUsableHole(const Part& part, int32_t begin, int32_t end, int64_t height) const;
  Choice Choose(const Part& part);
  double Score(int32_t section, double options, int64_t slack) const;
  void PushOptions(int32_t section);
  bool SameAsEarlier(size_t first, size_t last, int32_t index) const;
  bool OutOfLimits();

  const Instance& instance_;
  ExactState state_;

  // Set by Run:
  BranchRule rule_ = BranchRule::kBalanced;
  const std::vector<int32_t>* rank_ = nullptr;
  int64_t node_limit_ = 0;
  Work* work_ = nullptr;
  int64_t deadline_ = 0;
  int64_t nodes_ = 0;
  bool gave_up_ = false;

  std::vector<int32_t> options_;  // a stack of the choices that are still to try
  // Items that can stand on the floor of a valley.
  std::vector<int32_t> candidates_;
  // Items that could if there were no usable hole below them.
  std::vector<int32_t> waiting_;
  // By section, refilled for each choice: the end of its valley (0 outside of valleys), how many
  // sections before it have support, and how many candidates cover it.
  std::vector<int32_t> valley_end_, supported_, covering_;
  std::vector<int64_t> ends_before_, begins_after_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_EXACT_SEARCH_H_

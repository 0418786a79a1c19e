// Branch and bound over plans filled from the bottom: a depth-first search as in Moffitt 2023,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", with
// branches of its own.
#ifndef ASHLAR_MEMORY_EXACT_SEARCH_H_
#define ASHLAR_MEMORY_EXACT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "memory/exact_state.h"
#include "memory/instance.h"
#include "memory/work.h"

namespace ashlar::memory {

// Where to branch next.
enum class BranchRule {
  kBalanced,                // Few choices and little room to waste, sooner where much failed.
  kFewestOptionsByFailure,  // Few choices, sooner where much failed.
  kLeastSlack,              // Little room to waste, then few choices.
};
inline constexpr BranchRule kBranchRules[] = {
    BranchRule::kBalanced, BranchRule::kFewestOptionsByFailure, BranchRule::kLeastSlack};

enum class SearchOutcome {
  kFound,      // bases() fit the capacity.
  kExhausted,  // Nothing fits the capacity; a proof only if the search is complete.
  kGaveUp,     // Out of nodes or work.
};

// Looks for a plan within a capacity by filling the arena from the bottom, and
// takes back what does not work out.
//
// The skyline is the height to which each section is filled. In a valley of it,
// a stretch lower than both sides, take any one section: in a plan where every
// group has sunk as low as it can, either the next group of that section stands
// on the floor of the valley, then it lies within the valley, or none does, then
// the section is closed: its floor rises to the next height at which something
// can end beside it, or to what is fixed above. These choices exclude each other and miss nothing,
// and the section with the fewest of them may be taken first.
//
// A branch is dead when ExactState says so; when a hole is left behind that a
// remaining group would fit into; or when of two groups with the same life the
// smaller lies directly under the larger. Parts of time that no remaining group
// connects are solved apart.
//
// A group that its alignment would put above the floor, with a hole below that a
// remaining group fits into, waits until the hole is filled.
//
// Complete if no group pauses in time and alignments are kept.
class ExactSearch {
 public:
  // Whether it can take such an instance at all: all groups that are not fixed
  // are flat, and there are not too many of them.
  static bool Accepts(const Instance& instance);

  // Whether kRounded is worth trying beside kKept.
  static bool RoundingMatters(const Instance& instance);

  ExactSearch(const Instance& instance, Alignment alignment)
      : instance_(instance), state_(instance, alignment) {}

  bool complete() const { return state_.complete(); }
  // Bytes: the smallest arena above `capacity` that a plan of this search can have.
  int64_t NextArena(int64_t capacity) const { return state_.NextArena(capacity); }

  // `rank`: for each group its place in the order in which choices are tried.
  SearchOutcome Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                    int64_t node_limit, Work& work, int64_t deadline);

  const std::vector<int64_t>& bases() const { return state_.bases(); }
  int64_t nodes() const { return nodes_; }  // Of the last run.

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

  // Set by Run.
  BranchRule rule_ = BranchRule::kBalanced;
  const std::vector<int32_t>* rank_ = nullptr;
  int64_t node_limit_ = 0;
  Work* work_ = nullptr;
  int64_t deadline_ = 0;
  int64_t nodes_ = 0;
  bool gave_up_ = false;

  std::vector<int32_t> options_;  // A stack of the choices that are still to try.
  // Items that can stand on the floor of a valley.
  std::vector<int32_t> candidates_;
  // Those that could, were it not for a usable hole below them.
  std::vector<int32_t> waiting_;
  // Filled anew by each choice, by section: where its valley ends (0 outside of valleys), how many
  // of the sections before it have support, and how many candidates cover it.
  std::vector<int32_t> valley_end_, supported_, covering_;
  std::vector<int64_t> ends_before_, begins_after_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_SEARCH_H_

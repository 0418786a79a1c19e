#ifndef ASHLAR_MEMORY_EXACT_SEARCH_H_
#define ASHLAR_MEMORY_EXACT_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "memory/instance.h"

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
  kGaveUp,     // Out of nodes or time.
};

// Looks for a plan within a capacity by filling the arena from the bottom, and
// takes back what does not work out.
//
// The skyline is the height to which each section is filled. In a valley of it,
// a stretch lower than both sides, take any one section: in a plan where every
// group has sunk as low as it can, either the next group of that section stands
// on the floor of the valley, then it lies within the valley, or none does, then
// the section is closed: its floor rises to the next height at which something
// can end beside it. These choices exclude each other and miss nothing, and the
// section with the fewest of them may be taken first.
//
// A branch is dead when in some section the lowest possible base of the
// remaining groups, or of those of them that cannot stand below a certain level,
// plus their sizes, exceeds the capacity; when a hole is left behind that a
// remaining group would fit into; or when of two groups with the same life the
// smaller lies directly under the larger. Parts of time that no remaining group
// connects are solved apart.
//
// Complete if no group pauses in time, and either all have the same alignment or
// all heights are multiples of the largest.
class ExactSearch {
 public:
  // Whether it can take such an instance at all: flat groups, none fixed, each
  // base 0 modulo its alignment, and not too many of them.
  static bool Accepts(const Instance& instance);

  explicit ExactSearch(const Instance& instance);

  bool complete() const { return complete_; }
  // Bytes: the smallest arena above `capacity` that a plan of this search can have.
  int64_t NextArena(int64_t capacity) const {
    return rounded_ ? capacity + 1 : (capacity / unit_ + 1) * unit_;
  }

  // `rank`: for each group its place in the order in which choices are tried.
  SearchOutcome Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                    int64_t node_limit, absl::Time deadline);

  const std::vector<int64_t>& bases() const { return bases_; }
  int64_t nodes() const { return nodes_; }  // Of the last run.

 private:
  // A group to be placed: sections [begin, end), as its own alignment rounds it.
  struct Item {
    int32_t group;
    int32_t begin, end;
    int64_t height;      // Bytes, rounded.
    int64_t end_height;  // Bytes, not rounded.
    int64_t low_height;  // The lowest of its rectangles.
    bool plain;          // One rectangle.
  };
  // Of an item; apart from the rest of it because every choice looks at all.
  struct Life {
    int32_t item;
    int32_t begin, end;
  };
  // What a choice changed, to take it back.
  struct Change {
    enum Kind : int32_t { kLevel, kTop, kTopItem, kFloor, kPlaced } kind;
    int32_t index;
    int64_t before;
  };
  // A level is twice the height of the skyline, plus one if nothing can stand
  // there: then the next base is higher.
  using Level = int64_t;
  static int64_t LowestBase(Level level) { return (level + 1) >> 1; }

  // A part of time that is solved by itself: sections [begin, end) and the
  // remaining lives_[first, last).
  struct Part {
    int32_t begin, end;
    int32_t first, last;
  };
  struct Choice {
    int32_t section = -1;
    bool may_close = false;
    Level closed_level = 0;
  };

  bool Solve(Part part);
  bool SolveParts(const Part& part);
  bool Connected(const Part& part, int32_t item) const;
  bool FillValleys(const Part& part);
  void FindCandidates(const Part& part);
  bool LeavesUsableHole(const Part& part, int32_t begin, int32_t end, int64_t height) const;
  Choice Choose(const Part& part);
  bool SameAsEarlier(size_t first, size_t k) const;
  bool BelongsBelow(int32_t upper, int32_t lower) const;
  bool Place(int32_t item, const Part& part);
  void Drop(int32_t item, Part& part);
  bool Lift(int32_t begin, int32_t end, Level level, const Part& part);
  void RaiseFloors(int32_t begin, int32_t end, Level level, const Part& part, int32_t& first,
                   int32_t& last);
  bool HasRoom(int32_t section, const Part& part);
  bool StackFits(Level level, const Part& part);
  void AddLoad(const Item& item, int sign);
  void TakeBack(size_t mark);
  bool OutOfLimits();
  int64_t Rounded(const Rect& rect) const { return (rect.top + alignment_ - 1) & -alignment_; }

  const Instance& instance_;
  bool complete_ = true;
  std::vector<Item> all_;
  int64_t alignment_ = 1;  // The largest.
  int64_t unit_ = 0;       // All rounded heights are multiples.
  bool rounded_ = false;   // Some height was not a multiple of the alignment.

  // Set by Run.
  int64_t capacity_ = 0;
  int64_t room_ = 0;  // The capacity, and what rounding adds at the very top.
  BranchRule rule_ = BranchRule::kBalanced;
  const std::vector<int32_t>* rank_ = nullptr;
  int64_t node_limit_ = 0;
  absl::Time deadline_;
  int64_t nodes_ = 0;
  bool gave_up_ = false;

  // By section.
  std::vector<Level> level_;
  std::vector<int64_t> top_;       // End of the highest group placed.
  std::vector<int32_t> top_item_;  // That group's item, or -1.
  std::vector<int64_t> load_;      // Bytes of the remaining items.
  std::vector<int32_t> witness_;   // An item that proved room last time.
  std::vector<double> failures_;
  std::vector<int32_t> crossing_;  // Remaining items live on both sides of its begin.
  // By item.
  std::vector<Level> floor_;  // The highest level under its life.
  std::vector<char> placed_;
  std::vector<int32_t> place_;  // Of each item in lives_.
  std::vector<Life> lives_;     // Those that a part has left are next to each other.
  std::vector<int64_t> bases_;  // By group.
  std::vector<Change> trail_;
  std::vector<int32_t> options_;  // A stack of the choices that are still to try.
  // Scratch of Choose, by section.
  std::vector<int32_t> valley_end_, supported_, covering_;
  std::vector<int64_t> ends_before_, begins_after_;
  std::vector<int64_t> stack_;
  std::vector<int32_t> candidates_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_SEARCH_H_

// Planning in one pass from the bottom. A variant of the skyline heuristic of Burke, Kendall and
// Whitwell (2004, "A New Solution Heuristic for the Orthogonal Stock-Cutting Problem"). Theirs puts
// the best-fitting rectangle into the lowest segment of the skyline. This one, for lifetimes,
// places the group with the lowest possible base next; a given order breaks ties.
#ifndef ASHLAR_MEMORY_HEURISTICS_DIVE_H_
#define ASHLAR_MEMORY_HEURISTICS_DIVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/problem/instance.h"
#include "memory/problem/lifetime_index.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// Which group comes first among groups that can be placed equally low.
enum class DivePriority {
  kArea,          // bytes x sections, larger first
  kLoadThenArea,  // live bytes at its fullest section, then area, then length
  kLoadThenWide,  // live bytes at its fullest section, then length, then area
  kHeight,        // bytes, larger first
  kBytesSteps,    // bytes x steps of the hull, larger first
};
inline constexpr DivePriority kDivePriorities[] = {
    DivePriority::kArea, DivePriority::kLoadThenArea, DivePriority::kLoadThenWide,
    DivePriority::kHeight, DivePriority::kBytesSteps};

// Returns the groups without a fixed base, ordered by priority. Groups that live in all sections
// come first: at the bottom they obstruct no others.
std::vector<int32_t> DiveOrder(const Instance& instance, DivePriority priority);

// Which group is placed on the floor of a valley.
enum class DiveRule {
  kFirst,           // the first in the order that fits into it
  kFullestSection,  // the first that lives at the section with the most bytes left to place, if
                    // there is one: waste at that section makes an arena large
};

// A partial plan: bases by group, for groups that are already placed, and levels by section.
struct DiveStart {
  std::vector<int64_t> bases;
  std::vector<int64_t> levels;
};
// Returns a start with only the fixed groups placed; all others go above them.
DiveStart EmptyDive(const Instance& instance);
// Returns a start with all groups of a plan whose base is below `cut`; the others are to be placed
// again.
DiveStart DiveAbove(const Instance& instance, const std::vector<int64_t>& bases, int64_t cut);

// Fills the arena from the bottom. Always places the group whose lowest possible base, given the
// skyline over its life, is lowest; ties by rule and `order`, which lists the groups to place.
// Near-linear time and O(n) memory. Groups count as their hulls, filled down to the base.
//
// `index` belongs to the instance and is refilled. Returns one base per group, or an empty vector
// if `work` reaches `deadline` before the end.
std::vector<int64_t> PlaceDive(const Instance& instance, LifetimeIndex& index,
                               absl::Span<const int32_t> order, DiveRule rule, DiveStart start,
                               Work& work, int64_t deadline = kEndlessWork);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_DIVE_H_

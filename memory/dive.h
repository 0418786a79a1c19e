// Planning in one pass from the bottom. A variant of the skyline heuristic of Burke, Kendall and
// Whitwell (2004, "A New Solution Heuristic for the Orthogonal Stock-Cutting Problem"), for
// lifetimes: next comes the group with the lowest possible base, ties by a given order, where
// theirs fits the best rectangle into the lowest segment of the skyline.
#ifndef ASHLAR_MEMORY_DIVE_H_
#define ASHLAR_MEMORY_DIVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/instance.h"
#include "memory/lifetime_index.h"
#include "memory/work.h"

namespace ashlar::memory {

// Which of the groups that could be placed equally low goes first.
enum class DivePriority {
  kArea,          // Bytes x sections, larger first.
  kLoadThenArea,  // Live bytes at its fullest section, then area, then length.
  kLoadThenWide,  // Live bytes at its fullest section, then length, then area.
  kHeight,        // Bytes, larger first.
  kBytesSteps,    // Bytes x steps of the hull, larger first.
};
inline constexpr DivePriority kDivePriorities[] = {
    DivePriority::kArea, DivePriority::kLoadThenArea, DivePriority::kLoadThenWide,
    DivePriority::kHeight, DivePriority::kBytesSteps};

// Groups without a fixed base, in the order of the priority; first those that live in all sections,
// which at the bottom are in nobody's way.
std::vector<int32_t> DiveOrder(const Instance& instance, DivePriority priority);

// Which group stands on the floor of a valley.
enum class DiveRule {
  kFirst,           // The first in the order that fits into it.
  kFullestSection,  // The first of those that live where most bytes are left to be placed, if any
                    // does: what is wasted there is what makes an arena large.
};

// What stands already: bases by group, of those that are not to be placed, and levels by section.
struct DiveStart {
  std::vector<int64_t> bases;
  std::vector<int64_t> levels;
};
// The fixed groups alone; all others go above them.
DiveStart EmptyDive(const Instance& instance);
// All groups of a plan with a base below `cut`: the others are to be placed anew.
DiveStart DiveAbove(const Instance& instance, const std::vector<int64_t>& bases, int64_t cut);

// Fills the arena from the bottom: always places the group whose lowest
// possible base, given the skyline over its life, is lowest, ties by rule and `order`, which has
// the groups to be placed. Near-linear and O(n) memory. Groups count as their hulls filled down to
// the base. `index` is one of the instance, filled anew. Returns one base for each group, or
// nothing at all where it is not done when `work` has spent as much as `deadline`.
std::vector<int64_t> PlaceDive(const Instance& instance, LifetimeIndex& index,
                               absl::Span<const int32_t> order, DiveRule rule, DiveStart start,
                               Work& work, int64_t deadline = kEndlessWork);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_DIVE_H_

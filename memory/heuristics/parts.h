// Splits time where few groups live, so that what lies between is planned by itself: in a network
// in tiles, the strips of one segment and the tensors at its ends.
#ifndef ASHLAR_MEMORY_HEURISTICS_PARTS_H_
#define ASHLAR_MEMORY_HEURISTICS_PARTS_H_

#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"

namespace ashlar::memory {

// A range of sections.
struct TimePart {
  int32_t begin = 0, end = 0;
};

// Returns the parts, in order; a single one if the instance cannot be split.
std::vector<TimePart> FindParts(const Instance& instance);

// The groups that live in a part, as an instance. Groups that have a base are fixed; groups
// that live in other parts together with groups of this one are there, too.
struct PartInstance {
  Instance instance;
  std::vector<int32_t> groups;  // by group of `instance`: the group of the whole
};

// `bases`: by group of the whole; -1 if it has none yet.
PartInstance MakePart(const Instance& instance, const TimePart& part,
                      const std::vector<int64_t>& bases);

// Returns the order in which parts are planned: the fullest first, then always the fuller of the
// two beside the planned parts. So a part meets planned groups at one of its ends only.
std::vector<size_t> FullestFirst(const Instance& instance, const std::vector<TimePart>& parts);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_PARTS_H_

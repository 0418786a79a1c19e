// First fit: each group into the lowest gap, in a given order. By size it is the greedy by size of
// Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference".
#ifndef ASHLAR_MEMORY_FIRST_FIT_H_
#define ASHLAR_MEMORY_FIRST_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/instance.h"
#include "memory/work.h"

namespace ashlar::memory {

// Takes the groups in the given order and puts each into the lowest gap between
// those placed before that are live with it. Knows overhangs and fixed offsets,
// which come first. O(n^2) where all live together, far less where few do. Returns one base for
// each group; groups that are not in the order must be fixed or empty.
std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order,
                                   Work& work);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_FIRST_FIT_H_

// First fit: each group into the lowest gap, in a given order. By size it is the greedy by size of
// Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference".
#ifndef ASHLAR_MEMORY_FIRST_FIT_H_
#define ASHLAR_MEMORY_FIRST_FIT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "memory/instance.h"
#include "memory/placed_rects.h"
#include "memory/work.h"

namespace ashlar::memory {

// A plan that grows by one group after the other, and can be taken back. Knows overhangs and fixed
// offsets.
class FirstFit {
 public:
  // Groups that are fixed, and empty ones, stand from the start.
  explicit FirstFit(const Instance& instance);

  // Puts a group into the lowest gap between those that stand and are live with it. Time is in
  // proportion to these, and the logarithm of their number.
  void Place(int32_t group, Work& work);
  // Puts a group where it stood before, which must be free again.
  void PlaceAt(int32_t group, int64_t base);
  // How many were placed, and taking the last ones back until so many are left.
  size_t placed() const { return before_.size(); }
  void TakeBack(size_t left);

  // Bytes, by group; of those that do not stand, what was there before, or 0.
  const std::vector<int64_t>& bases() const { return bases_; }

 private:
  // Bases that a group may not have: [low, high), exclusive.
  using Forbidden = std::pair<int64_t, int64_t>;
  // As it was before a group was placed.
  struct Before {
    size_t rects;
    int64_t floor;
  };

  void Settle(int32_t group, int64_t base);

  const Instance& instance_;
  std::vector<int64_t> bases_;
  PlacedRects rects_;
  int64_t floor_ = 0;  // below it groups that live in all sections lie without a gap
  std::vector<Before> before_;
  std::vector<Forbidden> forbidden_;
};

// Places the groups in the given order, fixed ones first. O(n^2) where all live together, far less
// where few do. Returns one base for each group; groups that are not in the order must be fixed or
// empty.
std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order,
                                   Work& work);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_FIRST_FIT_H_

// First fit: puts each group into the lowest gap, in a given order. Ordered by size it is greedy by
// size of Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference".
#ifndef ASHLAR_MEMORY_HEURISTICS_FIRST_FIT_H_
#define ASHLAR_MEMORY_HEURISTICS_FIRST_FIT_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "memory/problem/instance.h"
#include "memory/problem/placed_rects.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// A plan that grows group by group and can be undone. Supports overhangs and fixed offsets.
class FirstFit {
 public:
  // Fixed and empty groups are placed from the start.
  explicit FirstFit(const Instance& instance);

  // Puts a group into the lowest gap among the placed groups that are live with it. Time is
  // proportional to their number, times the logarithm.
  void Place(int32_t group, Work& work);
  // Places groups in the given order, after all placed ones are taken back. Returns bases().
  const std::vector<int64_t>& PlaceAll(absl::Span<const int32_t> order, Work& work);
  // Puts a group back to a previous base, which must be free again.
  void PlaceAt(int32_t group, int64_t base);
  // The number of placed groups; TakeBack removes the last ones until `left` remain.
  size_t placed() const { return before_.size(); }
  void TakeBack(size_t left);

  // Returns the bases in bytes, by group. A group that is not placed has its previous base, or 0.
  const std::vector<int64_t>& bases() const { return bases_; }

 private:
  // Bases that a group may not have: [low, high), exclusive.
  using Forbidden = std::pair<int64_t, int64_t>;
  // The state before a group was placed.
  struct Before {
    size_t rects;
    int64_t floor;
  };

  void Settle(int32_t group, int64_t base);

  const Instance& instance_;
  std::vector<int64_t> bases_;
  PlacedRects rects_;
  int64_t floor_ = 0;  // below it, groups that live in all sections lie without gaps
  std::vector<Before> before_;
  std::vector<Forbidden> forbidden_;
};

// Places the groups in the given order, after the fixed ones. O(n^2) if all live together, much
// less if few do. Returns one base per group. Groups that are not in the order must be fixed or
// empty.
std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order,
                                   Work& work);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_HEURISTICS_FIRST_FIT_H_

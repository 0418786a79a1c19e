// Boxes of tensors, for tiling.
#ifndef ASHLAR_GRAPH_REGION_H_
#define ASHLAR_GRAPH_REGION_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graph/shape.h"

namespace ashlar {

// A half-open range, in elements. Ranges that are not clipped may begin below 0.
struct Range {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool Contains(const Range& other) const { return begin <= other.begin && other.end <= end; }
  friend bool operator==(const Range&, const Range&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Range& range) {
    return H::combine(std::move(h), range.begin, range.end);
  }
};

// The intersection and the hull of two ranges; an empty range adds nothing to a hull.
inline Range Intersection(const Range& a, const Range& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
inline Range Hull(const Range& a, const Range& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// Returns slice `index` of `count` of a range; sizes of slices differ by at most one.
inline Range PartOf(const Range& range, int64_t index, int64_t count) {
  return {range.begin + range.size() * index / count,
          range.begin + range.size() * (index + 1) / count};
}

// The dimensions along which images are cut.
inline constexpr int kAxisN = 0, kAxisH = 2, kAxisW = 3;

// A region has one range per dimension of a tensor's logical shape.
using Region = absl::InlinedVector<Range, 4>;

Region WholeRegion(const Shape& shape);
bool IsWhole(const Region& region, const Shape& shape);
Shape ShapeOf(const Region& region);
bool IsEmpty(const Region& region);
bool Contains(const Region& outer, const Region& inner);
Region Hull(const Region& a, const Region& b);
// Returns the intersection with a tensor of this shape.
Region Clip(const Region& region, const Shape& shape);
// "[0,1) [0,64) [14,28) [0,56)"
std::string ToString(const Region& region);

// Divides and rounds towards minus infinity (Floor) or plus infinity (Ceil); `divisor` is positive.
inline int64_t FloorDivide(int64_t value, int64_t divisor) {
  return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
}
inline int64_t CeilDivide(int64_t value, int64_t divisor) { return -FloorDivide(-value, divisor); }

// Returns the first multiple of `unit` that is at least `value`.
inline int64_t RoundUp(int64_t value, int64_t unit) { return CeilDivide(value, unit) * unit; }

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_REGION_H_

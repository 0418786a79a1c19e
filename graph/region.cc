#include "graph/region.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {

Region WholeRegion(const Shape& shape) {
  Region region;
  for (int64_t dim : shape.dims()) region.push_back({0, dim});
  return region;
}

bool IsWhole(const Region& region, const Shape& shape) {
  for (size_t i = 0; i < region.size(); ++i) {
    if (region[i] != Range{0, shape[static_cast<int>(i)]}) return false;
  }
  return true;
}

Shape ShapeOf(const Region& region) {
  Shape shape;
  for (const Range& range : region) shape.push_back(range.size());
  return shape;
}

bool IsEmpty(const Region& region) {
  return std::any_of(region.begin(), region.end(), [](const Range& r) { return r.empty(); });
}

bool Contains(const Region& outer, const Region& inner) {
  for (size_t i = 0; i < outer.size(); ++i) {
    if (!outer[i].Contains(inner[i])) return false;
  }
  return true;
}

Region Hull(const Region& a, const Region& b) {
  if (a.empty() || IsEmpty(a)) return b;
  if (b.empty() || IsEmpty(b)) return a;
  Region hull = a;
  for (size_t i = 0; i < hull.size(); ++i) hull[i] = Hull(a[i], b[i]);
  return hull;
}

Region Clip(const Region& region, const Shape& shape) {
  Region clipped = region;
  for (size_t i = 0; i < region.size(); ++i) {
    clipped[i] = Intersection(region[i], {0, shape[static_cast<int>(i)]});
  }
  return clipped;
}

std::string ToString(const Region& region) {
  return absl::StrJoin(region, " ", [](std::string* out, const Range& range) {
    absl::StrAppend(out, "[", range.begin, ",", range.end, ")");
  });
}

}  // namespace ashlar

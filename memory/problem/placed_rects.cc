#include "memory/problem/placed_rects.h"

#include <bit>

namespace ashlar::memory {

PlacedRects::PlacedRects(int32_t sections)
    : counts_(std::bit_width(static_cast<uint32_t>(sections)) + 1) {
  size_t lists = 0;
  for (size_t k = 0; k < counts_.size(); ++k) {
    first_list_.push_back(static_cast<int32_t>(lists));
    lists += (sections >> k) + 1;
  }
  lists_.resize(lists);
}

void PlacedRects::Add(const Rect& rect) {
  const int32_t k = std::bit_width(static_cast<uint32_t>(rect.end - rect.begin - 1));
  const int32_t list = first_list_[k] + (rect.begin >> k);
  lists_[list].push_back(rect);
  ++counts_[k];
  added_.push_back({k, list});
}

void PlacedRects::RemoveLast() {
  const Place place = added_.back();
  added_.pop_back();
  lists_[place.list].pop_back();
  --counts_[place.k];
}

}  // namespace ashlar::memory

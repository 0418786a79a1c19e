#include "memory/heuristics/first_fit.h"

#include <algorithm>

#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// Work per placed group, and per rectangle that it must not overlap.
constexpr int64_t kGroupWork = 300, kForbiddenWork = 16;

}  // namespace

FirstFit::FirstFit(const Instance& instance)
    : instance_(instance), bases_(instance.groups(), 0), rects_(instance.sections()) {
  for (int32_t g = 0; g < instance.groups(); ++g) {
    if (instance.fixed(g) >= 0) {
      Settle(g, instance.fixed(g));
    } else if (instance.height(g) == 0) {
      Settle(g, instance.AlignUp(g, 0));
    }
  }
}

void FirstFit::Place(int32_t group, Work& work) {
  forbidden_.clear();
  for (const Rect& r : instance_.rects(group)) {
    rects_.ForEach(r.begin, r.end, [&](const Rect& other) {
      forbidden_.push_back({other.bottom - r.top, other.top - r.bottom});
    });
  }
  std::sort(forbidden_.begin(), forbidden_.end(),
            [](const Forbidden& a, const Forbidden& b) { return a.first < b.first; });
  work.Spend(kGroupWork + kForbiddenWork * static_cast<int64_t>(forbidden_.size()));
  int64_t base = instance_.AlignUp(group, floor_);
  for (const auto& [low, high] : forbidden_) {
    if (base <= low) break;
    if (base < high) base = instance_.AlignUp(group, high);
  }
  PlaceAt(group, base);
}

const std::vector<int64_t>& FirstFit::PlaceAll(absl::Span<const int32_t> order, Work& work) {
  TakeBack(0);
  for (const int32_t g : order) Place(g, work);
  return bases_;
}

void FirstFit::PlaceAt(int32_t group, int64_t base) {
  before_.push_back({rects_.size(), floor_});
  Settle(group, base);
}

void FirstFit::TakeBack(size_t left) {
  if (left >= before_.size()) return;
  floor_ = before_[left].floor;
  while (rects_.size() > before_[left].rects) rects_.RemoveLast();
  before_.resize(left);
}

void FirstFit::Settle(int32_t group, int64_t base) {
  bases_[group] = base;
  for (const Rect& r : instance_.rects(group)) {
    if (r.begin == 0 && r.end == instance_.sections() && base + r.bottom == floor_) {
      floor_ = base + r.top;
    } else {
      rects_.Add({r.begin, r.end, base + r.bottom, base + r.top});
    }
  }
}

std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order,
                                   Work& work) {
  return FirstFit(instance).PlaceAll(order, work);
}

}  // namespace ashlar::memory

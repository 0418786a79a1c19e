#include "memory/first_fit.h"

#include <algorithm>
#include <utility>

namespace ashlar::memory {
namespace {

// Bases that a group may not have: [low, high), exclusive.
using Forbidden = std::pair<int64_t, int64_t>;

class FirstFit {
 public:
  explicit FirstFit(const Instance& instance) : instance_(instance), bases_(instance.groups(), 0) {
    for (int g = 0; g < instance.groups(); ++g) {
      if (instance.fixed(g) >= 0) {
        Settle(g, instance.fixed(g));
      } else if (instance.height(g) == 0) {
        Settle(g, instance.AlignUp(g, 0));
      }
    }
  }

  void Place(int group) {
    forbidden_.clear();
    for (const Rect& r : instance_.rects(group)) {
      for (const Rect& other : placed_) {
        if (other.begin < r.end && r.begin < other.end) {
          forbidden_.push_back({other.bottom - r.top, other.top - r.bottom});
        }
      }
    }
    std::sort(forbidden_.begin(), forbidden_.end());
    int64_t base = instance_.AlignUp(group, 0);
    for (const auto& [low, high] : forbidden_) {
      if (base <= low) break;
      if (base < high) base = instance_.AlignUp(group, high);
    }
    Settle(group, base);
  }

  std::vector<int64_t> bases() const { return bases_; }

 private:
  void Settle(int group, int64_t base) {
    bases_[group] = base;
    for (const Rect& r : instance_.rects(group)) {
      placed_.push_back({r.begin, r.end, base + r.bottom, base + r.top});
    }
  }

  const Instance& instance_;
  std::vector<int64_t> bases_;
  std::vector<Rect> placed_;  // At absolute addresses.
  std::vector<Forbidden> forbidden_;
};

}  // namespace

std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order) {
  FirstFit first_fit(instance);
  for (int32_t g : order) first_fit.Place(g);
  return first_fit.bases();
}

}  // namespace ashlar::memory

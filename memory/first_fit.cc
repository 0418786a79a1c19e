#include "memory/first_fit.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ashlar::memory {
namespace {

// Of one group placed, and of each rectangle that it may not overlap.
constexpr int64_t kGroupWork = 300, kForbiddenWork = 20;

// Bases that a group may not have: [low, high), exclusive.
using Forbidden = std::pair<int64_t, int64_t>;

// Rectangles at absolute addresses, found by the sections that they live in: one list for each
// stretch of 2^k sections, for those of up to 2^k that begin in it.
class PlacedRects {
 public:
  explicit PlacedRects(int32_t sections) : counts_(std::bit_width(Unsigned(sections)) + 1) {
    for (size_t k = 0; k < counts_.size(); ++k) {
      lists_.push_back(static_cast<int32_t>(heads_.size()));
      heads_.resize(heads_.size() + (sections >> k) + 1, -1);
    }
  }

  void Add(const Rect& rect) {
    const size_t k = std::bit_width(Unsigned(rect.end - rect.begin - 1));
    int32_t& head = heads_[lists_[k] + (rect.begin >> k)];
    next_.push_back(head);
    head = static_cast<int32_t>(rects_.size());
    rects_.push_back(rect);
    ++counts_[k];
  }

  // Calls `take` with each that lives in some section of [begin, end).
  template <typename Take>
  void ForEach(int32_t begin, int32_t end, Take take) const {
    for (size_t k = 0; k < counts_.size(); ++k) {
      if (counts_[k] == 0) continue;
      const int32_t first = std::max(0, begin - (int32_t{1} << k) + 1) >> k;
      const int32_t last = (end - 1) >> k;
      for (int32_t list = first; list <= last; ++list) {
        for (int32_t i = heads_[lists_[k] + list]; i >= 0; i = next_[i]) {
          if (rects_[i].begin < end && begin < rects_[i].end) take(rects_[i]);
        }
      }
    }
  }

 private:
  static uint32_t Unsigned(int32_t value) { return static_cast<uint32_t>(value); }

  std::vector<Rect> rects_;
  std::vector<int32_t> next_;    // in the list of each, -1 at its end
  std::vector<int32_t> heads_;   // the first of each list, -1 where it is empty
  std::vector<int32_t> lists_;   // by k, where its lists begin in heads_
  std::vector<int32_t> counts_;  // by k
};

class FirstFit {
 public:
  FirstFit(const Instance& instance, Work& work)
      : instance_(instance),
        work_(work),
        bases_(instance.groups(), 0),
        placed_(instance.sections()) {
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
      placed_.ForEach(r.begin, r.end, [&](const Rect& other) {
        forbidden_.push_back({other.bottom - r.top, other.top - r.bottom});
      });
    }
    std::sort(forbidden_.begin(), forbidden_.end());
    work_.Spend(kGroupWork + kForbiddenWork * static_cast<int64_t>(forbidden_.size()));
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
      placed_.Add({r.begin, r.end, base + r.bottom, base + r.top});
    }
  }

  const Instance& instance_;
  Work& work_;
  std::vector<int64_t> bases_;
  PlacedRects placed_;
  std::vector<Forbidden> forbidden_;
};

}  // namespace

std::vector<int64_t> PlaceFirstFit(const Instance& instance, absl::Span<const int32_t> order,
                                   Work& work) {
  FirstFit first_fit(instance, work);
  for (int32_t g : order) first_fit.Place(g);
  return first_fit.bases();
}

}  // namespace ashlar::memory

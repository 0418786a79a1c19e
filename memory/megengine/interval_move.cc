#include <algorithm>
#include <tuple>
#include <utility>

#include "memory/heuristics/online.h"
#include "memory/megengine/megengine_planners.h"

namespace ashlar::memory {
namespace {

constexpr int32_t kTop = -1;  // no neighbour above

class IntervalMove {
 public:
  IntervalMove(const Instance& instance, std::vector<int64_t>& bases)
      : instance_(instance),
        bases_(bases),
        room_(instance.groups()),
        neighbours_(instance.groups()),
        rank_(instance.groups()),
        floor_(AboveFixed(instance)),
        peak_(floor_) {}

  void Insert(int32_t group) {
    UpdateRooms();
    std::vector<int32_t>& near = neighbours_[group];
    for (int32_t g : stack_) {
      if (LiveTogether(g, group)) near.push_back(g);
    }
    // The highest end below each neighbour that does not raise the peak when groups above are
    // shifted.
    lowest_room_.assign(near.size() + 1, peak_);
    for (size_t i = near.size(); i-- > 0;) {
      lowest_room_[i] = std::min(lowest_room_[i + 1], room_[near[i]]);
    }
    // Tries each gap between the neighbours, and the space above the last.
    using Cost = std::pair<int64_t, int64_t>;  // peak increase; waste or shift
    Cost best{INT64_MAX, 0};
    int32_t next = kTop;
    int64_t end = floor_;
    for (size_t i = 0; i <= near.size(); ++i) {
      const int64_t base = instance_.AlignUp(group, end);
      const int64_t top = base + instance_.height(group);
      Cost cost{std::max<int64_t>(0, top - lowest_room_[i]), 0};
      if (i < near.size()) cost.second = std::abs(bases_[near[i]] - top);
      if (cost < best) {
        best = cost;
        bases_[group] = base;
        next = i < near.size() ? near[i] : kTop;
      }
      if (i < near.size()) end = std::max(end, bases_[near[i]] + instance_.height(near[i]));
    }
    for (int32_t g : near) neighbours_[g].push_back(group);
    Shove(group, next);
  }

 private:
  bool LiveTogether(int32_t a, int32_t b) const {
    return instance_.begin(a) < instance_.end(b) && instance_.begin(b) < instance_.end(a);
  }

  // Computes room_[g]: the highest base of g at which the groups above it do not exceed the peak.
  void UpdateRooms() {
    for (auto it = stack_.rbegin(); it != stack_.rend(); ++it) {
      room_[*it] = peak_ - instance_.height(*it);
      for (int32_t g : neighbours_[*it]) {
        if (bases_[g] > bases_[*it]) {
          room_[*it] = std::min(room_[*it], room_[g] - instance_.height(*it));
        }
      }
    }
  }

  // Inserts `newcomer` into the stack before `next`, or on top if that is kTop, and moves up the
  // groups in its way.
  void Shove(int32_t newcomer, int32_t next) {
    auto at = stack_.insert(std::find(stack_.begin(), stack_.end(), next), newcomer);
    for (size_t i = 0; i < stack_.size(); ++i) rank_[stack_[i]] = static_cast<int32_t>(i);
    for (; at != stack_.end(); ++at) {
      for (int32_t g : neighbours_[*at]) {
        if (rank_[g] > rank_[*at]) continue;
        const int64_t end = bases_[g] + instance_.height(g);
        if (bases_[*at] < end) bases_[*at] = instance_.AlignUp(*at, end);
      }
      peak_ = std::max(peak_, bases_[*at] + instance_.height(*at));
    }
    std::sort(stack_.begin(), stack_.end(), [&](int32_t a, int32_t b) {
      return std::pair(bases_[a], a) < std::pair(bases_[b], b);
    });
  }

  const Instance& instance_;
  std::vector<int64_t>& bases_;
  std::vector<int64_t> room_;
  std::vector<int64_t> lowest_room_;              // refilled by Insert
  std::vector<std::vector<int32_t>> neighbours_;  // placed and live together
  std::vector<int32_t> rank_;                     // position in stack_
  std::vector<int32_t> stack_;                    // placed, by base
  int64_t floor_;
  int64_t peak_;
};

}  // namespace

std::vector<int64_t> PlaceIntervalMove(const Instance& instance) {
  std::vector<int64_t> bases(instance.groups());
  std::vector<int32_t> order;
  for (int g = 0; g < instance.groups(); ++g) {
    bases[g] = instance.fixed(g) >= 0 ? instance.fixed(g) : instance.AlignUp(g, 0);
    if (instance.fixed(g) < 0 && instance.height(g) > 0) order.push_back(g);
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(instance.begin(a) - instance.end(a), instance.begin(a), -instance.height(a),
                      a) < std::tuple(instance.begin(b) - instance.end(b), instance.begin(b),
                                      -instance.height(b), b);
  });
  IntervalMove mover(instance, bases);
  for (int32_t g : order) mover.Insert(g);
  return bases;
}

}  // namespace ashlar::memory

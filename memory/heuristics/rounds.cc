#include "memory/heuristics/rounds.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "absl/types/span.h"
#include "memory/problem/lower_bound.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// The number of likely round distances that are examined.
constexpr size_t kCandidates = 4;
// The fraction of the whole's groups that folding must remove.
constexpr double kWorthWhile = 1.0 / 3;
// The limit of a round's bound, relative to the whole's bound.
constexpr double kLittleMore = 1.05;

// Groups of equal shape, by their first section.
class Shapes {
 public:
  explicit Shapes(const Instance& instance) : instance_(instance) {
    for (int32_t g = 0; g < instance.groups(); ++g) {
      if (instance.height(g) > 0 && instance.fixed(g) < 0) groups_.push_back(g);
    }
    std::sort(groups_.begin(), groups_.end(), [&](int32_t a, int32_t b) {
      const int order = Compare(a, b);
      return order != 0 ? order < 0
                        : std::pair(instance.begin(a), a) < std::pair(instance.begin(b), b);
    });
    place_.assign(instance.groups(), -1);
    for (size_t i = 0; i < groups_.size(); ++i) place_[groups_[i]] = static_cast<int32_t>(i);
    for (size_t i = 0, next; i < groups_.size(); i = next) {
      for (next = i + 1; next < groups_.size() && Compare(groups_[i], groups_[next]) == 0;) ++next;
      ends_.resize(next, static_cast<int32_t>(next));
    }
    in_time_ = groups_;
    std::sort(in_time_.begin(), in_time_.end(), [&](int32_t a, int32_t b) {
      return std::pair(instance.begin(a), a) < std::pair(instance.begin(b), b);
    });
  }

  // All groups of one shape, by time; then the groups of the next shape.
  const std::vector<int32_t>& groups() const { return groups_; }
  const std::vector<int32_t>& in_time() const { return in_time_; }
  // Returns the end of the range of groups with the same shape as the one at `place`.
  int32_t end(size_t place) const { return ends_[place]; }

  // Returns the first group of the same shape that begins at `section` and is not taken, or -1.
  int32_t Find(int32_t group, int32_t section, const std::vector<bool>& taken) const {
    if (place_[group] < 0) return -1;
    const auto last = groups_.begin() + ends_[place_[group]];
    auto at = std::lower_bound(
        groups_.begin() + place_[group], last, section,
        [&](int32_t other, int32_t begin) { return instance_.begin(other) < begin; });
    for (; at != last && instance_.begin(*at) == section; ++at) {
      if (!taken[*at]) return *at;
    }
    return -1;
  }

 private:
  int Compare(int32_t a, int32_t b) const {
    const auto key = [&](int32_t g) {
      return std::tuple(instance_.height(g), instance_.end(g) - instance_.begin(g),
                        instance_.alignment(g), instance_.residue(g), instance_.rects(g).size());
    };
    const auto left = key(a), right = key(b);
    if (left != right) return left < right ? -1 : 1;
    const absl::Span<const Rect> one = instance_.rects(a), other = instance_.rects(b);
    for (size_t i = 0; i < one.size() && one.size() > 1; ++i) {
      const auto rect = [&](const Rect& r, int32_t g) {
        return std::tuple(r.begin - instance_.begin(g), r.end - instance_.begin(g), r.bottom,
                          r.top);
      };
      const auto mine = rect(one[i], a), its = rect(other[i], b);
      if (mine != its) return mine < its ? -1 : 1;
    }
    return 0;
  }

  const Instance& instance_;
  std::vector<int32_t> groups_, in_time_;
  std::vector<int32_t> place_, ends_;  // by group; by place
};

// The number of sections from the first round to each round, starting with 0.
using Distances = std::vector<int32_t>;

// Returns the distances between groups of equal shape, for shapes that occur once per round. Only
// distances of at least two shapes count; the most frequent come first.
std::vector<Distances> LikelyDistances(const Instance& instance, const Shapes& shapes) {
  std::map<Distances, int> shapes_by_distances;
  const std::vector<int32_t>& groups = shapes.groups();
  for (size_t i = 0; i < groups.size(); i = shapes.end(i)) {
    Distances distances;
    for (int32_t k = static_cast<int32_t>(i); k < shapes.end(i); ++k) {
      const int32_t distance = instance.begin(groups[k]) - instance.begin(groups[i]);
      if (!distances.empty() && distance == distances.back()) {
        distances.clear();  // several at once
        break;
      }
      distances.push_back(distance);
    }
    if (distances.size() > 1) ++shapes_by_distances[std::move(distances)];
  }
  std::vector<std::pair<int, Distances>> ranked;
  for (const auto& [distances, count] : shapes_by_distances) {
    if (count > 1) ranked.emplace_back(count, distances);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Distances> likely;
  for (size_t i = 0; i < std::min(ranked.size(), kCandidates); ++i) {
    likely.push_back(std::move(ranked[i].second));
  }
  return likely;
}

class Fold {
 public:
  Fold(const Instance& instance, const Shapes& shapes, Distances distances)
      : instance_(instance), distances_(std::move(distances)) {
    Match(shapes);
    if (rounds_.empty()) return;
    KeepFullestRound();
    first_ = instance_.begin(rounds_[0][0]);
  }

  // Returns how many groups folding removes.
  size_t gain() const { return rounds_.size() * (distances_.size() - 1); }

  FoldedInstance Make() const {
    FoldedInstance folded;
    folded.folded_of.assign(instance_.groups(), -1);
    std::vector<Instance::Shape> shapes;
    for (const std::vector<int32_t>& members : rounds_) {
      for (const int32_t g : members) folded.folded_of[g] = static_cast<int32_t>(shapes.size());
      shapes.push_back(ShapeOf(members));
    }
    for (int32_t g = 0; g < instance_.groups(); ++g) {
      if (folded.folded_of[g] >= 0) continue;
      folded.folded_of[g] = static_cast<int32_t>(shapes.size());
      shapes.push_back(ShapeOf({g}));
    }
    // The first rounds may be longer than the last one and the sections after it.
    int32_t sections = 0;
    for (int32_t s = 0; s < instance_.sections(); ++s) {
      sections = std::max(sections, Position(s) + 1);
    }
    std::vector<int64_t> steps(sections);
    for (int32_t s = instance_.sections(); s-- > 0;) {
      steps[Position(s)] = instance_.section_step(s);
    }
    folded.instance = Instance::OfShapes(std::move(steps), shapes);
    folded.lower_bound = ComputeLowerBound(folded.instance).bytes;
    return folded;
  }

 private:
  // Finds groups that occur once in each round.
  void Match(const Shapes& shapes) {
    std::vector<bool> taken(instance_.groups(), false);
    for (const int32_t g : shapes.in_time()) {
      if (taken[g]) continue;
      std::vector<int32_t> members = {g};
      for (size_t i = 1; i < distances_.size(); ++i) {
        const int32_t other = shapes.Find(g, instance_.begin(g) + distances_[i], taken);
        // They share an address, so none may live together with the next.
        if (other < 0 || instance_.end(members.back()) > instance_.begin(other)) break;
        members.push_back(other);
      }
      if (members.size() < distances_.size()) continue;
      for (const int32_t member : members) taken[member] = true;
      rounds_.push_back(std::move(members));
    }
  }

  // Groups outside of the rounds may have the same distances. Keeps the position of the round with
  // the most groups.
  void KeepFullestRound() {
    size_t first = 0, most = 0;
    for (size_t i = 0, end = 0; i < rounds_.size(); ++i) {
      const int32_t behind = instance_.begin(rounds_[i][0]) + distances_[1];
      while (end < rounds_.size() && instance_.begin(rounds_[end][0]) < behind) ++end;
      if (end - i > most) {
        most = end - i;
        first = i;
      }
    }
    rounds_.resize(first + most);
    rounds_.erase(rounds_.begin(), rounds_.begin() + first);
  }

  // Returns the round of a section; the last round after the end.
  size_t RoundOf(int32_t section) const {
    const auto behind = std::upper_bound(distances_.begin(), distances_.end(), section - first_);
    return static_cast<size_t>(behind - distances_.begin()) - 1;
  }

  // Returns a section's position in folded time; sections after the last round follow the first.
  int32_t Position(int32_t section) const {
    if (section < first_) return section;
    return section - distances_[RoundOf(section)];
  }

  Instance::Shape ShapeOf(absl::Span<const int32_t> members) const {
    const int32_t g = members[0];
    Instance::Shape shape{
        {}, instance_.steps(g), instance_.alignment(g), instance_.residue(g), instance_.fixed(g)};
    for (const int32_t member : members) {
      for (const Rect& rect : instance_.rects(member)) Add(rect, shape.rects);
    }
    const auto key = [](const Rect& r) { return std::tuple(r.begin, r.end, r.bottom, r.top); };
    std::sort(shape.rects.begin(), shape.rects.end(),
              [&](const Rect& a, const Rect& b) { return key(a) < key(b); });
    shape.rects.erase(std::unique(shape.rects.begin(), shape.rects.end(),
                                  [&](const Rect& a, const Rect& b) { return key(a) == key(b); }),
                      shape.rects.end());
    return shape;
  }

  // Adds a rectangle in folded time: one piece for each round that it lives in.
  void Add(Rect rect, std::vector<Rect>& pieces) const {
    const int32_t end = rect.end;
    while (rect.begin < end) {
      int32_t border = end;  // of the piece
      if (rect.begin < first_) {
        border = first_;
      } else if (const size_t next = RoundOf(rect.begin) + 1; next < distances_.size()) {
        border = first_ + distances_[next];
      }
      border = std::min(border, end);
      const int32_t begin = Position(rect.begin);
      pieces.push_back({begin, begin + border - rect.begin, rect.bottom, rect.top});
      rect.begin = border;
    }
  }

  const Instance& instance_;
  const Distances distances_;
  std::vector<std::vector<int32_t>>
      rounds_;         // by group of the first round: its equivalent in each round
  int32_t first_ = 0;  // first section of the first round
};

}  // namespace

std::vector<int64_t> FoldedInstance::Unfold(const std::vector<int64_t>& bases) const {
  std::vector<int64_t> all(folded_of.size());
  for (size_t g = 0; g < all.size(); ++g) all[g] = bases[folded_of[g]];
  return all;
}

std::optional<FoldedInstance> FoldRounds(const Instance& instance, int64_t lower_bound) {
  std::optional<FoldedInstance> best;
  const Shapes shapes(instance);
  for (Distances& distances : LikelyDistances(instance, shapes)) {
    Fold fold(instance, shapes, std::move(distances));
    if (static_cast<double>(fold.gain()) < kWorthWhile * instance.groups()) continue;
    FoldedInstance folded = fold.Make();
    if (static_cast<double>(folded.lower_bound) > kLittleMore * static_cast<double>(lower_bound)) {
      continue;
    }
    const auto key = [](const FoldedInstance& f) {
      return std::pair(f.lower_bound, f.instance.groups());
    };
    if (!best || key(folded) < key(*best)) best = std::move(folded);
  }
  return best;
}

}  // namespace ashlar::memory

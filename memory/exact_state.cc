#include "memory/exact_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ashlar::memory {
namespace {

constexpr int32_t kNone = -1;

}  // namespace

ExactState::ExactState(const Instance& instance) : instance_(instance) {
  for (int g = 0; g < instance.groups(); ++g) {
    alignment_ = std::max(alignment_, instance.alignment(g));
  }
  bool alike = true;
  bool pauses = false;
  for (int g = 0; g < instance.groups(); ++g) {
    const auto rects = instance.rects(g);
    if (rects.empty()) continue;
    alike = alike && instance.alignment(g) == alignment_;
    Item item{g,         instance.begin(g), instance.end(g), 0, instance.height(g),
              INT64_MAX, rects.size() == 1};
    int32_t end = item.begin;
    for (const Rect& r : rects) {
      const int64_t top = Rounded(r);
      rounded_ = rounded_ || top != r.top;
      pauses = pauses || r.begin > end;
      end = r.end;
      item.height = std::max(item.height, top);
      item.low_height = std::min(item.low_height, top);
      unit_ = std::gcd(unit_, top);
    }
    items_.push_back(item);
  }
  complete_ = (alike || !rounded_) && !pauses;
  unit_ = std::max<int64_t>(unit_, 1);
}

bool ExactState::Reset(int64_t capacity) {
  const int32_t sections = instance_.sections();
  const int32_t count = static_cast<int32_t>(items_.size());
  capacity_ = capacity;
  room_ = capacity;
  level_.assign(sections, 0);
  top_.assign(sections, 0);
  top_item_.assign(sections, kNone);
  load_.assign(sections, 0);
  witness_.assign(sections, kNone);
  failures_.resize(sections, 1);
  crossing_.assign(sections + 1, 0);
  stack_.assign(sections + 1, 0);
  floor_.assign(count, 0);
  placed_.assign(count, 0);
  place_.resize(count);
  lives_.resize(count);
  bases_.assign(instance_.groups(), 0);
  trail_.clear();
  int64_t rounding = 0;
  for (int32_t i = 0; i < count; ++i) {
    const Item& item = items_[i];
    lives_[i] = {i, item.begin, item.end};
    place_[i] = i;
    AddLoad(item, 1);
    rounding = std::max(rounding, item.height - item.end_height);
  }
  // The highest group of a section may end before its rounded end.
  room_ += rounding;
  return HaveRoom(0, sections, Whole());
}

ExactState::Part ExactState::Whole() const {
  return {0, instance_.sections(), 0, static_cast<int32_t>(items_.size())};
}

void ExactState::AddLoad(const Item& item, int sign) {
  for (const Rect& r : instance_.rects(item.group)) {
    const int64_t height = item.plain ? item.height : Rounded(r);
    for (int32_t s = r.begin; s < r.end; ++s) load_[s] += sign * height;
  }
  for (int32_t s = item.begin + 1; s < item.end; ++s) crossing_[s] += sign;
}

void ExactState::TakeBack(size_t mark) {
  while (trail_.size() > mark) {
    const Change change = trail_.back();
    trail_.pop_back();
    switch (change.kind) {
      case Change::kLevel:
        level_[change.index] = change.before;
        break;
      case Change::kTop:
        top_[change.index] = change.before;
        break;
      case Change::kTopItem:
        top_item_[change.index] = static_cast<int32_t>(change.before);
        break;
      case Change::kFloor:
        floor_[change.index] = change.before;
        break;
      case Change::kPlaced:
        placed_[change.index] = 0;
        AddLoad(items_[change.index], 1);
        break;
    }
  }
}

bool ExactState::HasRoom(int32_t section, const Part& part) {
  if (load_[section] == 0) return true;
  const int64_t highest = HighestBase(section);
  int32_t& witness = witness_[section];
  if (witness != kNone && !placed_[witness] && LowestBase(floor_[witness]) <= highest) return true;
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (life.begin > section || life.end <= section || placed_[life.item] ||
        LowestBase(floor_[life.item]) > highest) {
      continue;
    }
    witness = life.item;
    return true;
  }
  failures_[section] += 1;
  return false;
}

bool ExactState::HaveRoom(int32_t begin, int32_t end, const Part& part) {
  for (int32_t s = begin; s < end; ++s) {
    if (!HasRoom(s, part)) return false;
  }
  return true;
}

// What cannot stand below `level` must in each section fit above it.
bool ExactState::StackFits(Level level, const Part& part) {
  std::fill(stack_.begin() + part.begin, stack_.begin() + part.end + 1, 0);
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (floor_[life.item] < level || placed_[life.item]) continue;
    stack_[life.begin] += items_[life.item].low_height;
    stack_[life.end] -= items_[life.item].low_height;
  }
  const int64_t above = room_ - LowestBase(level);
  int64_t sum = 0;
  for (int32_t s = part.begin; s < part.end; ++s) {
    sum += stack_[s];
    if (sum <= above) continue;
    failures_[s] += 1;
    return false;
  }
  return true;
}

// [first, last) grows by the lives of those whose floor rises.
void ExactState::RaiseFloors(int32_t begin, int32_t end, Level level, const Part& part,
                             int32_t& first, int32_t& last) {
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (life.begin >= end || life.end <= begin) continue;
    Level& floor = floor_[life.item];
    if (floor >= level || placed_[life.item]) continue;
    trail_.push_back({Change::kFloor, life.item, floor});
    floor = level;
    first = std::min(first, life.begin);
    last = std::max(last, life.end);
  }
}

bool ExactState::Lift(int32_t begin, int32_t end, Level level, const Part& part) {
  for (int32_t s = begin; s < end; ++s) {
    trail_.push_back({Change::kLevel, s, level_[s]});
    level_[s] = level;
  }
  int32_t first = begin;
  int32_t last = end;
  RaiseFloors(begin, end, level, part, first, last);
  return HaveRoom(first, last, part) && StackFits(level, part);
}

// Of two groups with the same life the larger goes below. Not so if one is rounded up, as then it
// matters which of them is the highest of all.
bool ExactState::BelongsBelow(int32_t upper, int32_t lower) const {
  const Item& a = items_[upper];
  const Item& b = items_[lower];
  const bool alike = b.plain && a.begin == b.begin && a.end == b.end && a.height == a.end_height &&
                     b.height == b.end_height;
  return alike && (a.height > b.height || (a.height == b.height && upper < lower));
}

bool ExactState::Place(int32_t index, Part& part) {
  const Item& item = items_[index];
  const int64_t base = level_[item.begin] >> 1;
  if (base + item.end_height > capacity_) return false;
  if (item.plain && top_item_[item.begin] != kNone && top_[item.begin] == base &&
      BelongsBelow(index, top_item_[item.begin])) {
    return false;
  }
  placed_[index] = 1;
  trail_.push_back({Change::kPlaced, index, 0});
  AddLoad(item, -1);
  bases_[item.group] = base;
  int32_t first = item.begin;
  int32_t last = item.end;
  for (const Rect& r : instance_.rects(item.group)) {
    const int64_t top = base + (item.plain ? item.height : Rounded(r));
    for (int32_t s = r.begin; s < r.end; ++s) {
      trail_.push_back({Change::kLevel, s, level_[s]});
      trail_.push_back({Change::kTop, s, top_[s]});
      trail_.push_back({Change::kTopItem, s, top_item_[s]});
      level_[s] = 2 * top;
      top_[s] = top;
      top_item_[s] = index;
    }
    RaiseFloors(r.begin, r.end, 2 * top, part, first, last);
  }
  if (!HaveRoom(first, last, part) || !StackFits(2 * (base + item.low_height), part)) return false;
  Drop(index, part);
  return true;
}

// Moves a placed item out of the part.
void ExactState::Drop(int32_t index, Part& part) {
  const int32_t last = lives_[--part.last].item;
  std::swap(lives_[place_[index]], lives_[part.last]);
  std::swap(place_[index], place_[last]);
}

bool ExactState::Connected(const Part& part, int32_t index) const {
  for (int32_t s = std::max(part.begin, items_[index].begin) + 1; s < items_[index].end; ++s) {
    if (crossing_[s] == 0) return false;
  }
  return true;
}

std::vector<ExactState::Part> ExactState::Split(const Part& part) {
  std::sort(lives_.begin() + part.first, lives_.begin() + part.last,
            [](const Life& a, const Life& b) {
              return a.begin != b.begin ? a.begin < b.begin : a.item < b.item;
            });
  for (int32_t k = part.first; k < part.last; ++k) place_[lives_[k].item] = k;
  std::vector<std::pair<int64_t, Part>> keyed;  // With the least room in it.
  int32_t k = part.first;
  for (int32_t begin = part.begin; begin < part.end;) {
    int32_t end = begin + 1;
    while (end < part.end && crossing_[end] != 0) ++end;
    Part sub{begin, end, k, k};
    while (sub.last < part.last && lives_[sub.last].begin < end) ++sub.last;
    k = sub.last;
    int64_t room = INT64_MAX;
    for (int32_t s = begin; s < end; ++s) {
      room = std::min(room, HighestBase(s) - LowestBase(level_[s]));
    }
    if (sub.last > sub.first) keyed.push_back({room, sub});
    begin = end;
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Part> parts;
  for (const auto& [room, sub] : keyed) parts.push_back(sub);
  return parts;
}

}  // namespace ashlar::memory

#include "memory/exact/exact_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ashlar::memory {
namespace {

// The weight of earlier failures after a reset, found by trial on many instances. With weight 1,
// every run repeats the first one.
constexpr double kMemory = 0.5;

}  // namespace

ExactState::ExactState(const Instance& instance, Alignment alignment) : instance_(instance) {
  int64_t largest = 1;
  for (int g = 0; g < instance.groups(); ++g) largest = std::max(largest, instance.alignment(g));
  bool alike = true;
  bool multiples = true;
  const auto multiple = [&](int64_t bytes) { return (bytes & (largest - 1)) == 0; };
  for (int g = 0; g < instance.groups(); ++g) {
    if (instance.rects(g).empty()) continue;
    alike = alike && instance.alignment(g) == largest && instance.residue(g) == 0;
    multiples = multiples && multiple(instance.residue(g));
    const int64_t base = std::max<int64_t>(instance.fixed(g), 0);
    for (const Rect& r : instance.rects(g)) {
      multiples = multiples && multiple(base + r.bottom) && multiple(base + r.top);
    }
  }
  // If everything is a multiple of the largest alignment, alignment needs no care. If all groups
  // have the same alignment, rounded heights suffice, except below a pin.
  const bool loses_nothing = alike && !instance.has_fixed();
  const bool rounds = !multiples && (loses_nothing || alignment == Alignment::kRounded);
  complete_ = !rounds || loses_nothing;
  aligned_ = !multiples && !rounds;
  if (rounds) rounding_ = largest;
  if (rounds) unit_ = 1;
  for (int g = 0; g < instance.groups(); ++g) {
    if (!instance.rects(g).empty() && instance.fixed(g) < 0) AddItem(g);
  }
  PinFixedGroups();
  unit_ = std::max<int64_t>(unit_, 1);
}

void ExactState::AddItem(int32_t group) {
  const auto rects = instance_.rects(group);
  Item item{group,     instance_.begin(group), instance_.end(group), 0, instance_.height(group),
            INT64_MAX, rects.size() == 1};
  int32_t end = item.begin;
  for (const Rect& r : rects) {
    const int64_t top = Rounded(r);
    complete_ = complete_ && r.begin <= end;
    end = r.end;
    item.height = std::max(item.height, top);
    item.low_height = std::min(item.low_height, top);
    unit_ = std::gcd(unit_, top);
  }
  if (aligned_) {
    if (instance_.alignment(group) > 1) unit_ = std::gcd(unit_, instance_.alignment(group));
    unit_ = std::gcd(unit_, instance_.residue(group));
  }
  items_.push_back(item);
}

void ExactState::PinFixedGroups() {
  std::vector<Rect> fixed;
  std::vector<std::vector<Pin>> by_section(instance_.sections());
  for (int g = 0; g < instance_.groups(); ++g) {
    const int64_t base = instance_.fixed(g);
    if (base < 0) continue;
    for (const Rect& r : instance_.rects(g)) {
      // Rounded, too, so that levels stay multiples.
      const int64_t bottom = (base + r.bottom) & -rounding_;
      const int64_t top = (base + r.top + rounding_ - 1) & -rounding_;
      fixed.push_back({r.begin, r.end, bottom, top});
      unit_ = std::gcd(unit_, top);
      for (int32_t s = r.begin; s < r.end; ++s) by_section[s].push_back({bottom, top});
    }
  }
  ForbidBasesAt(fixed);
  for (std::vector<Pin>& pins : by_section) {
    std::sort(pins.begin(), pins.end(),
              [](const Pin& a, const Pin& b) { return a.bottom < b.bottom; });
    first_pin_.push_back(static_cast<int32_t>(pins_.size()));
    pins_.insert(pins_.end(), pins.begin(), pins.end());
    pins_.push_back({kNoPin, kNoPin});
  }
}

void ExactState::ForbidBasesAt(const std::vector<Rect>& fixed) {
  if (fixed.empty()) return;
  std::vector<Forbidden> found;
  for (const Item& item : items_) {
    first_forbidden_.push_back(static_cast<int32_t>(forbidden_.size()));
    found.clear();
    for (const Rect& r : instance_.rects(item.group)) {
      for (const Rect& pin : fixed) {
        if (pin.begin >= r.end || r.begin >= pin.end) continue;
        found.push_back({pin.bottom - r.top, pin.top - r.bottom});
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Forbidden& a, const Forbidden& b) { return a.low < b.low; });
    for (const Forbidden& f : found) {
      const bool joins = static_cast<int32_t>(forbidden_.size()) > first_forbidden_.back() &&
                         f.low < forbidden_.back().high;
      if (joins) {
        forbidden_.back().high = std::max(forbidden_.back().high, f.high);
      } else {
        forbidden_.push_back(f);
      }
    }
  }
  first_forbidden_.push_back(static_cast<int32_t>(forbidden_.size()));
}

int64_t ExactState::LowestClear(int32_t index, int64_t base) const {
  base = AlignUp(index, base);
  if (first_forbidden_.empty()) return base;
  const auto end = forbidden_.begin() + first_forbidden_[index + 1];
  auto it = std::partition_point(forbidden_.begin() + first_forbidden_[index], end,
                                 [base](const Forbidden& f) { return f.high <= base; });
  for (; it != end && it->low < base; ++it) {
    if (base < it->high) base = AlignUp(index, it->high);
  }
  return base;
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
  next_pin_ = first_pin_;
  witness_.assign(sections, kNone);
  failures_.resize(sections, 1);
  for (double& failures : failures_) failures = 1 + kMemory * (failures - 1);
  crossing_.assign(sections + 1, 0);
  stack_.assign(sections + 1, 0);
  floor_.resize(count);
  placed_.assign(count, 0);
  place_.resize(count);
  lives_.resize(count);
  bases_.resize(instance_.groups());
  for (int g = 0; g < instance_.groups(); ++g) {
    bases_[g] = instance_.fixed(g) >= 0 ? instance_.fixed(g) : instance_.AlignUp(g, 0);
  }
  trail_.Clear();
  int64_t rounding = 0;
  for (int32_t i = 0; i < count; ++i) {
    const Item& item = items_[i];
    lives_[i] = {i, item.begin, item.end};
    place_[i] = i;
    AddLoad(item, 1);
    floor_[i] = 2 * LowestClear(i, 0);
    rounding = std::max(rounding, item.height - item.end_height);
  }
  for (int32_t s = 0; s < sections; ++s) {
    for (int32_t p = first_pin_[s]; pins_[p].bottom != kNoPin; ++p) {
      if (pins_[p].top > capacity) return false;
      load_[s] += pins_[p].top - pins_[p].bottom;
    }
  }
  // The highest group of a section may end before its rounded end.
  room_ += rounding;
  int32_t first = 0;
  int32_t last = sections;
  PassPins(0, sections, Whole(), first, last);
  return HaveRoom(first, last, Whole());
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
  trail_.TakeBack(mark, [this](const Trail<Change>::Change& change) {
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
      case Change::kPin:
        next_pin_[change.index] = static_cast<int32_t>(change.before);
        load_[change.index] += pin_top(change.index) - pin_bottom(change.index);
        break;
    }
  });
}

bool ExactState::HasRoom(int32_t section, const Part& part) {
  if (load_[section] == 0) return true;
  const int64_t highest = HighestBase(section);
  if (pin_bottom(section) <= highest) return true;
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

// Checks in each section that the items that cannot stand below `level` fit above it.
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

// Raises floors; [first, last) grows by the lives whose floor rises.
void ExactState::RaiseFloors(int32_t begin, int32_t end, Level level, const Part& part,
                             int32_t& first, int32_t& last) {
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (life.begin >= end || life.end <= begin) continue;
    Level& floor = floor_[life.item];
    if (floor >= level || placed_[life.item]) continue;
    trail_.Add(Change::kFloor, life.item, floor);
    const int64_t lowest = LowestBase(level);
    const int64_t clear = LowestClear(life.item, lowest);
    floor = clear > lowest ? 2 * clear : level;
    first = std::min(first, life.begin);
    last = std::max(last, life.end);
  }
}

void ExactState::SetLevel(int32_t s, Level level, int64_t top, int32_t top_item) {
  trail_.Add(Change::kLevel, s, level_[s]);
  level_[s] = level;
  if (top == top_[s] && top_item == top_item_[s]) return;
  trail_.Add(Change::kTop, s, top_[s]);
  trail_.Add(Change::kTopItem, s, top_item_[s]);
  top_[s] = top;
  top_item_[s] = top_item;
}

// Lifts the sections of [begin, end) whose level has reached a pin above the pin.
void ExactState::PassPins(int32_t begin, int32_t end, const Part& part, int32_t& first,
                          int32_t& last) {
  if (first_forbidden_.empty()) return;
  for (int32_t s = begin; s < end; ++s) {
    const Level before = level_[s];
    while (LowestBase(level_[s]) >= pin_bottom(s)) {
      const int64_t top = pin_top(s);
      trail_.Add(Change::kPin, s, next_pin_[s]);
      load_[s] -= top - pin_bottom(s);
      ++next_pin_[s];
      SetLevel(s, 2 * top, top, kNone);
    }
    if (level_[s] != before) RaiseFloors(s, s + 1, level_[s], part, first, last);
  }
}

bool ExactState::Lift(int32_t begin, int32_t end, Level level, const Part& part) {
  for (int32_t s = begin; s < end; ++s) SetLevel(s, level, top_[s], top_item_[s]);
  int32_t first = begin;
  int32_t last = end;
  RaiseFloors(begin, end, level, part, first, last);
  PassPins(begin, end, part, first, last);
  return HaveRoom(first, last, part) && StackFits(level, part);
}

// If two groups have the same life, the larger goes below. Except if one is rounded up, because
// then it matters which is the highest of all, or if one cannot stand on the other.
bool ExactState::BelongsBelow(int32_t upper, int32_t lower) const {
  const Item& a = items_[upper];
  const Item& b = items_[lower];
  if (!b.plain || a.begin != b.begin || a.end != b.end) return false;
  if (a.height != a.end_height || b.height != b.end_height) return false;
  if (aligned_) {
    const int64_t base = bases_[b.group];
    if (AlignUp(upper, base) != base) return false;
    if (AlignUp(lower, base + a.height) != base + a.height) return false;
  }
  return (a.height > b.height || (a.height == b.height && upper < lower));
}

bool ExactState::Place(int32_t index, Part& part) {
  const Item& item = items_[index];
  const int64_t base = AlignUp(index, level_[item.begin] >> 1);
  if (base + item.end_height > capacity_) return false;
  if (item.plain && top_item_[item.begin] != kNone && top_[item.begin] == base &&
      BelongsBelow(index, top_item_[item.begin])) {
    return false;
  }
  placed_[index] = 1;
  trail_.Add(Change::kPlaced, index, 0);
  AddLoad(item, -1);
  bases_[item.group] = base;
  int32_t first = item.begin;
  int32_t last = item.end;
  for (const Rect& r : instance_.rects(item.group)) {
    const int64_t top = base + (item.plain ? item.height : Rounded(r));
    for (int32_t s = r.begin; s < r.end; ++s) SetLevel(s, 2 * top, top, index);
    RaiseFloors(r.begin, r.end, 2 * top, part, first, last);
  }
  PassPins(item.begin, item.end, part, first, last);
  if (!HaveRoom(first, last, part) || !StackFits(2 * (base + item.low_height), part)) return false;
  Drop(index, part);
  return true;
}

// Removes a placed item from the part.
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
  std::vector<std::pair<int64_t, Part>> keyed;  // with the least room in it
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

#include "memory/exact_search.h"

#include <algorithm>
#include <numeric>

#include "absl/time/clock.h"

namespace ashlar::memory {
namespace {

constexpr int32_t kNone = -1;
// Recursion is as deep as there are choices; more groups could exhaust a stack.
constexpr int kMaxGroups = 8000;
constexpr int64_t kNodesPerClock = 64;
// Of room to waste against choices, by trial on many instances.
constexpr double kWasteWeight = 20;
constexpr int64_t kNoLevel = INT64_MAX;

}  // namespace

bool ExactSearch::Accepts(const Instance& instance) {
  if (instance.has_fixed() || !instance.all_flat() || instance.groups() > kMaxGroups) return false;
  for (int g = 0; g < instance.groups(); ++g) {
    if (instance.residue(g) != 0) return false;
  }
  return true;
}

ExactSearch::ExactSearch(const Instance& instance) : instance_(instance) {
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
    all_.push_back(item);
  }
  complete_ = (alike || !rounded_) && !pauses;
  unit_ = std::max<int64_t>(unit_, 1);
}

SearchOutcome ExactSearch::Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                               int64_t node_limit, absl::Time deadline) {
  const int32_t sections = instance_.sections();
  const int32_t count = static_cast<int32_t>(all_.size());
  capacity_ = capacity;
  rule_ = rule;
  rank_ = &rank;
  node_limit_ = node_limit;
  deadline_ = deadline;
  nodes_ = 0;
  gave_up_ = false;
  room_ = capacity;
  level_.assign(sections, 0);
  top_.assign(sections, 0);
  top_item_.assign(sections, kNone);
  load_.assign(sections, 0);
  witness_.assign(sections, kNone);
  failures_.resize(sections, 1);
  crossing_.assign(sections + 1, 0);
  floor_.assign(count, 0);
  placed_.assign(count, 0);
  place_.resize(count);
  lives_.resize(count);
  trail_.clear();
  options_.clear();
  valley_end_.assign(sections + 1, 0);
  supported_.assign(sections + 1, 0);
  covering_.assign(sections + 1, 0);
  ends_before_.assign(sections + 1, 0);
  begins_after_.assign(sections + 1, 0);
  stack_.assign(sections + 1, 0);
  bases_.assign(instance_.groups(), 0);
  int64_t rounding = 0;
  for (int32_t i = 0; i < count; ++i) {
    const Item& item = all_[i];
    lives_[i] = {i, item.begin, item.end};
    place_[i] = i;
    AddLoad(item, 1);
    rounding = std::max(rounding, item.height - item.end_height);
  }
  // The highest group of a section may end before its rounded end.
  room_ += rounding;
  Part all{0, sections, 0, count};
  for (int32_t s = 0; s < sections; ++s) {
    if (!HasRoom(s, all)) return SearchOutcome::kExhausted;
  }
  if (SolveParts(all)) return SearchOutcome::kFound;
  return gave_up_ ? SearchOutcome::kGaveUp : SearchOutcome::kExhausted;
}

void ExactSearch::AddLoad(const Item& item, int sign) {
  for (const Rect& r : instance_.rects(item.group)) {
    const int64_t height = item.plain ? item.height : Rounded(r);
    for (int32_t s = r.begin; s < r.end; ++s) load_[s] += sign * height;
  }
  for (int32_t s = item.begin + 1; s < item.end; ++s) crossing_[s] += sign;
}

void ExactSearch::TakeBack(size_t mark) {
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
        AddLoad(all_[change.index], 1);
        break;
    }
  }
}

bool ExactSearch::HasRoom(int32_t section, const Part& part) {
  if (load_[section] == 0) return true;
  const int64_t highest = room_ - load_[section];
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

// What cannot stand below `level` must in each section fit above it.
bool ExactSearch::StackFits(Level level, const Part& part) {
  std::fill(stack_.begin() + part.begin, stack_.begin() + part.end + 1, 0);
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (floor_[life.item] < level || placed_[life.item]) continue;
    stack_[life.begin] += all_[life.item].low_height;
    stack_[life.end] -= all_[life.item].low_height;
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

void ExactSearch::RaiseFloors(int32_t begin, int32_t end, Level level, const Part& part,
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

bool ExactSearch::Lift(int32_t begin, int32_t end, Level level, const Part& part) {
  for (int32_t s = begin; s < end; ++s) {
    trail_.push_back({Change::kLevel, s, level_[s]});
    level_[s] = level;
  }
  int32_t first = begin;
  int32_t last = end;
  RaiseFloors(begin, end, level, part, first, last);
  for (int32_t s = first; s < last; ++s) {
    if (!HasRoom(s, part)) return false;
  }
  return StackFits(level, part);
}

// Of two groups with the same life the larger goes below. Not so if one is rounded up, as then it
// matters which of them is the highest of all.
bool ExactSearch::BelongsBelow(int32_t upper, int32_t lower) const {
  const Item& a = all_[upper];
  const Item& b = all_[lower];
  const bool alike = b.plain && a.begin == b.begin && a.end == b.end && a.height == a.end_height &&
                     b.height == b.end_height;
  return alike && (a.height > b.height || (a.height == b.height && upper < lower));
}

bool ExactSearch::Place(int32_t index, const Part& part) {
  const Item& item = all_[index];
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
  for (int32_t s = first; s < last; ++s) {
    if (!HasRoom(s, part)) return false;
  }
  return StackFits(2 * (base + item.low_height), part);
}

// Finds the candidates: those that can stand on the floor of a valley. Each must stand on
// something there; had it nothing below it would have sunk.
void ExactSearch::FindCandidates(const Part& part) {
  supported_[part.begin] = 0;
  for (int32_t s = part.begin; s < part.end; ++s) {
    supported_[s + 1] = supported_[s] + (2 * top_[s] == level_[s]);
    covering_[s] = 0;
  }
  covering_[part.end] = 0;
  for (int32_t s = part.begin; s < part.end;) {
    int32_t end = s + 1;
    while (end < part.end && level_[end] == level_[s]) ++end;
    const bool valley = (level_[s] & 1) == 0 && (s == part.begin || level_[s - 1] > level_[s]) &&
                        (end == part.end || level_[end] > level_[s]);
    for (; s < end; ++s) valley_end_[s] = valley ? end : 0;
  }
  candidates_.clear();
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (life.end > valley_end_[life.begin]) continue;
    if (supported_[life.begin] == supported_[life.end]) continue;
    candidates_.push_back(life.item);
    ++covering_[life.begin];
    --covering_[life.end];
  }
  for (int32_t s = part.begin; s < part.end; ++s) covering_[s + 1] += covering_[s];
}

// True if a remaining item fits between what stands in [begin, end) and `height`.
bool ExactSearch::LeavesUsableHole(const Part& part, int32_t begin, int32_t end,
                                   int64_t height) const {
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = lives_[k];
    if (life.begin < begin || life.end > end) continue;
    const auto top = *std::max_element(top_.begin() + life.begin, top_.begin() + life.end);
    if (all_[life.item].height <= height - top) return true;
  }
  return false;
}

// Lifts valleys in which nothing can stand to the lower of their sides, until every valley has a
// candidate. False if that is a dead end.
bool ExactSearch::FillValleys(const Part& part) {
  while (true) {
    FindCandidates(part);
    bool lifted = false;
    for (int32_t s = part.begin; s < part.end;) {
      const Level level = level_[s];
      const int32_t begin = s;
      bool empty = true;
      for (; s < part.end && level_[s] == level; ++s) {
        empty = empty && (covering_[s] == 0 || valley_end_[s] == 0);
      }
      const Level left = begin == part.begin ? kNoLevel : level_[begin - 1];
      const Level right = s == part.end ? kNoLevel : level_[s];
      if (!empty || left < level || right < level) continue;
      const Level side = std::min(left, right);
      if (side == kNoLevel || LeavesUsableHole(part, begin, s, side >> 1) ||
          !Lift(begin, s, side, part)) {
        return false;
      }
      lifted = true;
    }
    if (!lifted) return true;
  }
}

ExactSearch::Choice ExactSearch::Choose(const Part& part) {
  // The lowest candidate that ends at or before a section, or begins after it, in its valley.
  for (int32_t s = part.begin; s <= part.end; ++s) ends_before_[s] = begins_after_[s] = INT64_MAX;
  for (int32_t i : candidates_) {
    const Item& item = all_[i];
    ends_before_[item.end] = std::min(ends_before_[item.end], item.low_height);
    begins_after_[item.begin] = std::min(begins_after_[item.begin], item.low_height);
  }
  for (int32_t s = part.end - 1; s >= part.begin; --s) {
    if (valley_end_[s] > s + 1) begins_after_[s] = std::min(begins_after_[s], begins_after_[s + 1]);
  }
  Choice best;
  double best_score = 0;
  for (int32_t begin = part.begin; begin < part.end;) {
    const int32_t end = valley_end_[begin];
    if (end == 0) {
      ++begin;
      continue;
    }
    const Level level = level_[begin];
    Level side = kNoLevel;
    if (begin > part.begin) side = level_[begin - 1];
    if (end < part.end) side = std::min(side, level_[end]);
    int64_t before = INT64_MAX;
    for (int32_t s = begin; s < end; ++s) {
      if (s > begin) before = std::min(before, ends_before_[s]);
      if (covering_[s] == 0) continue;
      // Closed, the floor rises to a side of the valley or to the end of a candidate beside it.
      const int64_t after = s + 1 < end ? begins_after_[s + 1] : INT64_MAX;
      Level closed = side;
      if (const int64_t rise = std::min(before, after); rise != INT64_MAX) {
        closed = std::min(closed, level + 2 * rise - 1);
      }
      const int64_t slack = room_ - load_[s] - (level >> 1);
      const bool may_close = closed != kNoLevel && LowestBase(closed) <= room_ - load_[s];
      const double options = covering_[s] + may_close;
      // In units of the capacity.
      const double waste = static_cast<double>(slack) / static_cast<double>(capacity_);
      double score = 0;
      switch (rule_) {
        case BranchRule::kBalanced:
          score = options * options * (1 + kWasteWeight * waste) / failures_[s];
          break;
        case BranchRule::kFewestOptionsByFailure:
          score = options / failures_[s];
          break;
        case BranchRule::kLeastSlack:
          score = waste * 1e6 + options;
          break;
      }
      if (best.section == kNone || score < best_score) {
        best_score = score;
        best = {s, may_close, closed};
      }
    }
    begin = end;
  }
  return best;
}

bool ExactSearch::OutOfLimits() {
  if (++nodes_ > node_limit_ || (nodes_ % kNodesPerClock == 0 && absl::Now() > deadline_)) {
    gave_up_ = true;
  }
  return gave_up_;
}

bool ExactSearch::Connected(const Part& part, int32_t index) const {
  for (int32_t s = std::max(part.begin, all_[index].begin) + 1; s < all_[index].end; ++s) {
    if (crossing_[s] == 0) return false;
  }
  return true;
}

// Moves a placed item out of the part.
void ExactSearch::Drop(int32_t index, Part& part) {
  const int32_t last = lives_[--part.last].item;
  std::swap(lives_[place_[index]], lives_[part.last]);
  std::swap(place_[index], place_[last]);
}

bool ExactSearch::SolveParts(const Part& part) {
  std::sort(lives_.begin() + part.first, lives_.begin() + part.last,
            [](const Life& a, const Life& b) {
              return a.begin != b.begin ? a.begin < b.begin : a.item < b.item;
            });
  for (int32_t k = part.first; k < part.last; ++k) place_[lives_[k].item] = k;
  std::vector<std::pair<int64_t, Part>> parts;  // With the least slack in it.
  int32_t k = part.first;
  for (int32_t begin = part.begin; begin < part.end;) {
    int32_t end = begin + 1;
    while (end < part.end && crossing_[end] != 0) ++end;
    Part sub{begin, end, k, k};
    while (sub.last < part.last && lives_[sub.last].begin < end) ++sub.last;
    k = sub.last;
    int64_t slack = INT64_MAX;
    for (int32_t s = begin; s < end; ++s) {
      slack = std::min(slack, room_ - load_[s] - LowestBase(level_[s]));
    }
    if (sub.last > sub.first) parts.push_back({slack, sub});
    begin = end;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [slack, sub] : parts) {
    if (!Solve(sub)) return false;
  }
  return true;
}

bool ExactSearch::Solve(Part part) {
  const size_t mark = trail_.size();
  const size_t first_option = options_.size();
  const auto fail = [&] {
    if (!gave_up_) TakeBack(mark);
    options_.resize(first_option);
    return false;
  };
  while (part.first < part.last) {
    if (OutOfLimits() || !FillValleys(part)) return fail();
    const Choice choice = Choose(part);
    if (choice.section == kNone) return fail();
    for (int32_t i : candidates_) {
      if (all_[i].begin <= choice.section && choice.section < all_[i].end) options_.push_back(i);
    }
    std::sort(options_.begin() + first_option, options_.end(), [&](int32_t a, int32_t b) {
      return (*rank_)[all_[a].group] < (*rank_)[all_[b].group];
    });
    const size_t options = options_.size() - first_option;
    if (options + choice.may_close == 1) {
      // Forced.
      if (options == 0) {
        if (!Lift(choice.section, choice.section + 1, choice.closed_level, part)) return fail();
        continue;
      }
      const int32_t item = options_.back();
      options_.pop_back();
      if (!Place(item, part)) return fail();
      Drop(item, part);
      if (!Connected(part, item)) return SolveParts(part) || fail();
      continue;
    }
    const size_t before = trail_.size();
    for (size_t k = first_option; k < first_option + options; ++k) {
      const int32_t item = options_[k];
      if (SameAsEarlier(first_option, k)) continue;
      if (Place(item, part)) {
        Part rest = part;
        Drop(item, rest);
        if (Connected(rest, item) ? Solve(rest) : SolveParts(rest)) return true;
      }
      if (gave_up_) return fail();
      TakeBack(before);
    }
    if (!choice.may_close || !Lift(choice.section, choice.section + 1, choice.closed_level, part)) {
      return fail();
    }
    options_.resize(first_option);
  }
  return true;
}

bool ExactSearch::SameAsEarlier(size_t first, size_t k) const {
  const Item& item = all_[options_[k]];
  for (size_t j = first; j < k && item.plain; ++j) {
    const Item& other = all_[options_[j]];
    if (other.plain && other.begin == item.begin && other.end == item.end &&
        other.end_height == item.end_height) {
      return true;
    }
  }
  return false;
}

}  // namespace ashlar::memory

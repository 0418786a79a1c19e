#include "memory/exact/exact_search.h"

#include <algorithm>
#include <utility>

#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// The recursion is as deep as the number of choices; more groups could exhaust the stack.
constexpr int kMaxGroups = 8000;
// The limit of ExactState's pins: one for each section of a fixed group.
constexpr int64_t kMaxPiecesOfPins = 4'000'000;
// Bytes; a level is twice as large, and two such sums are added.
constexpr int64_t kMaxTotal = kMaxBytes / 8;
// Work per choice, and per section or remaining group examined for it.
constexpr int64_t kNodeWork = 100, kLookWork = 3;
// The weight of waste against the number of choices, found by trial on many instances.
constexpr double kWasteWeight = 20;
constexpr int64_t kNoLevel = INT64_MAX;

}  // namespace

bool ExactSearch::Accepts(const Instance& instance) {
  if (instance.groups() > kMaxGroups) return false;
  int64_t pieces_of_pins = 0;
  int64_t total = 0;
  for (int g = 0; g < instance.groups(); ++g) {
    // No sum overflows: ValidateProblem has checked it.
    total += instance.height(g) + instance.alignment(g) - 1;
    if (instance.fixed(g) >= 0) {
      for (const Rect& r : instance.rects(g)) pieces_of_pins += r.end - r.begin;
      if (instance.fixed(g) > kMaxTotal) return false;
    } else if (!instance.flat(g)) {
      return false;
    }
  }
  return total <= kMaxTotal && pieces_of_pins <= kMaxPiecesOfPins;
}

bool ExactSearch::RoundingMatters(const Instance& instance) {
  for (int g = 0; g < instance.groups(); ++g) {
    if (instance.residue(g) != 0) return false;
  }
  return ExactState(instance, Alignment::kKept).aligned();
}

SearchOutcome ExactSearch::Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                               int64_t node_limit, Work& work, int64_t deadline) {
  const int32_t sections = instance_.sections();
  rule_ = rule;
  rank_ = &rank;
  node_limit_ = node_limit;
  work_ = &work;
  deadline_ = deadline;
  nodes_ = 0;
  gave_up_ = false;
  options_.clear();
  valley_end_.assign(sections + 1, 0);
  supported_.assign(sections + 1, 0);
  covering_.assign(sections + 1, 0);
  ends_before_.assign(sections + 1, 0);
  begins_after_.assign(sections + 1, 0);
  if (!state_.Reset(capacity)) return SearchOutcome::kExhausted;
  if (SolveParts(state_.Whole())) return SearchOutcome::kFound;
  return gave_up_ ? SearchOutcome::kGaveUp : SearchOutcome::kExhausted;
}

// Finds the candidates: the groups that can stand on the floor of a valley. Each must stand on
// something there; otherwise it would have sunk. If its alignment would leave a usable hole below,
// it waits until the hole is filled.
void ExactSearch::FindCandidates(const Part& part) {
  Spend(kLookWork * (part.end - part.begin + part.last - part.first));
  supported_[part.begin] = 0;
  for (int32_t s = part.begin; s < part.end; ++s) {
    supported_[s + 1] = supported_[s] + (2 * state_.top(s) == state_.level(s));
    covering_[s] = 0;
  }
  covering_[part.end] = 0;
  for (int32_t s = part.begin; s < part.end;) {
    int32_t end = s + 1;
    while (end < part.end && state_.level(end) == state_.level(s)) ++end;
    const bool valley = (state_.level(s) & 1) == 0 &&
                        (s == part.begin || state_.level(s - 1) > state_.level(s)) &&
                        (end == part.end || state_.level(end) > state_.level(s));
    for (; s < end; ++s) valley_end_[s] = valley ? end : 0;
  }
  candidates_.clear();
  waiting_.clear();
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = state_.life(k);
    if (life.end > valley_end_[life.begin]) continue;
    const int64_t floor = state_.level(life.begin) >> 1;
    const int64_t base = state_.AlignUp(life.item, floor);
    const bool supported = state_.aligned() ? StandsOnSomething(life, base)
                                            : supported_[life.begin] != supported_[life.end];
    if (!supported || !state_.Clears(life.item, base)) continue;
    if (base > floor) {
      if (HasPinBelow(life, base)) continue;  // it will stand on the pin
      if (LeavesUsableHole(part, life.begin, life.end, base)) {
        waiting_.push_back(life.item);
        continue;
      }
    }
    candidates_.push_back(life.item);
    ++covering_[life.begin];
    --covering_[life.end];
  }
  for (int32_t s = part.begin; s < part.end; ++s) covering_[s + 1] += covering_[s];
}

// Returns false if the group could sink.
bool ExactSearch::StandsOnSomething(const Life& life, int64_t base) const {
  int64_t top = 0;
  for (int32_t s = life.begin; s < life.end; ++s) top = std::max(top, state_.top(s));
  return state_.AlignUp(life.item, top) == base;
}

bool ExactSearch::HasPinBelow(const Life& life, int64_t base) const {
  for (int32_t s = life.begin; s < life.end; ++s) {
    if (state_.pin_bottom(s) < base) return true;
  }
  return false;
}

// Returns whether a remaining item fits between the placed groups in [begin, end) and `height`.
bool ExactSearch::LeavesUsableHole(const Part& part, int32_t begin, int32_t end,
                                   int64_t height) const {
  Spend(kLookWork * (part.last - part.first));
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = state_.life(k);
    if (life.begin < begin || life.end > end) continue;
    int64_t top = 0;
    for (int32_t s = life.begin; s < life.end; ++s) top = std::max(top, state_.top(s));
    top = state_.AlignUp(life.item, top);
    if (state_.item(life.item).height <= height - top) return true;
  }
  return false;
}

// Lifts valleys on whose floor nothing can stand, until every valley has a candidate. A valley is
// lifted to the lower of its sides or to the next base of another item. Returns false at a dead
// end.
bool ExactSearch::FillValleys(const Part& part) {
  while (true) {
    FindCandidates(part);
    bool lifted = false;
    Level next_left = kNoLevel;  // before anything is lifted
    for (int32_t s = part.begin; s < part.end;) {
      const Level level = state_.level(s);
      const Level left = std::exchange(next_left, level);
      const int32_t begin = s;
      bool empty = true;
      int64_t next = ExactState::kNoPin;
      for (; s < part.end && state_.level(s) == level; ++s) {
        empty = empty && (covering_[s] == 0 || valley_end_[s] == 0);
        next = std::min(next, state_.pin_bottom(s));
      }
      const Level right = s == part.end ? kNoLevel : state_.level(s);
      if (!empty || left < level || right < level) continue;
      for (int32_t item : waiting_) {
        if (state_.item(item).begin < begin || state_.item(item).begin >= s) continue;
        next = std::min(next, state_.AlignUp(item, level >> 1));
      }
      Level side = std::min(left, right);
      if (next != ExactState::kNoPin) side = std::min(side, 2 * next);
      if (side == kNoLevel || LeavesUsableHole(part, begin, s, side >> 1) ||
          !state_.Lift(begin, s, side, part)) {
        return false;
      }
      lifted = true;
    }
    if (!lifted) return true;
  }
}

// Smaller scores come first: `options` choices, `slack` bytes that may be wasted.
double ExactSearch::Score(int32_t section, double options, int64_t slack) const {
  // Relative to the capacity.
  const double waste = static_cast<double>(slack) / static_cast<double>(state_.capacity());
  switch (rule_) {
    case BranchRule::kBalanced:
      return options * options * (1 + kWasteWeight * waste) / state_.failures(section);
    case BranchRule::kFewestOptionsByFailure:
      return options / state_.failures(section);
    case BranchRule::kLeastSlack:
      break;
  }
  return waste * 1e6 + options;
}

ExactSearch::Choice ExactSearch::Choose(const Part& part) {
  Spend(kLookWork * (part.end - part.begin));
  // By section: the lowest candidate in its valley that ends at or before the section, or begins
  // after it.
  for (int32_t s = part.begin; s <= part.end; ++s) ends_before_[s] = begins_after_[s] = INT64_MAX;
  const auto note_end = [&](int32_t i) {
    const Item& item = state_.item(i);
    const int64_t floor = state_.level(item.begin) >> 1;
    const int64_t rise = state_.AlignUp(i, floor) - floor + item.low_height;
    ends_before_[item.end] = std::min(ends_before_[item.end], rise);
    begins_after_[item.begin] = std::min(begins_after_[item.begin], rise);
  };
  for (int32_t i : candidates_) note_end(i);
  for (int32_t i : waiting_) note_end(i);
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
    const Level level = state_.level(begin);
    Level side = kNoLevel;
    if (begin > part.begin) side = state_.level(begin - 1);
    if (end < part.end) side = std::min(side, state_.level(end));
    int64_t pin = ExactState::kNoPin;
    for (int32_t s = begin; s < end; ++s) pin = std::min(pin, state_.pin_top(s));
    int64_t before = INT64_MAX;
    for (int32_t s = begin; s < end; ++s) {
      if (s > begin) before = std::min(before, ends_before_[s]);
      if (covering_[s] == 0) continue;
      // A closed floor rises to a side of the valley, to an end beside it, or to a waiting item.
      const int64_t after = s + 1 < end ? begins_after_[s + 1] : INT64_MAX;
      Level closed = side;
      if (const int64_t rise = std::min(before, after); rise != INT64_MAX) {
        closed = std::min(closed, level + 2 * rise - 1);
      }
      if (pin != ExactState::kNoPin) closed = std::min(closed, 2 * pin - 1);
      if (state_.pin_bottom(s) != ExactState::kNoPin) {
        closed = std::min(closed, 2 * state_.pin_bottom(s));
      }
      for (int32_t i : waiting_) {
        const Item& item = state_.item(i);
        if (item.begin > s || item.end <= s) continue;
        closed = std::min(closed, 2 * state_.AlignUp(i, level >> 1));
      }
      const int64_t highest = state_.HighestBase(s);
      const bool may_close = closed != kNoLevel && ExactState::LowestBase(closed) <= highest;
      const double score = Score(s, covering_[s] + may_close, highest - (level >> 1));
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
  Spend(kNodeWork);
  if (++nodes_ > node_limit_ || work_->spent() > deadline_) gave_up_ = true;
  return gave_up_;
}

bool ExactSearch::SolveParts(const Part& part) {
  for (const Part& sub : state_.Split(part)) {
    if (!Solve(sub)) return false;
  }
  return true;
}

// Pushes the candidates that cover a section, in the order in which they are tried.
void ExactSearch::PushOptions(int32_t section) {
  const size_t first = options_.size();
  for (int32_t i : candidates_) {
    const Item& item = state_.item(i);
    if (item.begin <= section && section < item.end) options_.push_back(i);
  }
  std::sort(options_.begin() + first, options_.end(), [&](int32_t a, int32_t b) {
    return (*rank_)[state_.item(a).group] < (*rank_)[state_.item(b).group];
  });
}

bool ExactSearch::Solve(Part part) {
  const size_t mark = state_.mark();
  const size_t first_option = options_.size();
  const auto fail = [&] {
    if (!gave_up_) state_.TakeBack(mark);
    options_.resize(first_option);
    return false;
  };
  while (part.first < part.last) {
    if (OutOfLimits() || !FillValleys(part)) return fail();
    const Choice choice = Choose(part);
    if (choice.section == kNone) return fail();
    const auto close = [&] {
      return state_.Lift(choice.section, choice.section + 1, choice.closed_level, part);
    };
    PushOptions(choice.section);
    const size_t last_option = options_.size();
    if (last_option - first_option + choice.may_close == 1) {
      // The only choice left.
      if (choice.may_close) {
        if (!close()) return fail();
        continue;
      }
      const int32_t item = options_.back();
      options_.pop_back();
      if (!state_.Place(item, part)) return fail();
      if (!state_.Connected(part, item)) return SolveParts(part) || fail();
      continue;
    }
    const size_t before = state_.mark();
    for (size_t k = first_option; k < last_option; ++k) {
      if (SameAsEarlier(first_option, last_option, options_[k])) continue;
      const int32_t item = options_[k];
      Part rest = part;
      if (state_.Place(item, rest) &&
          (state_.Connected(rest, item) ? Solve(rest) : SolveParts(rest))) {
        return true;
      }
      if (gave_up_) return fail();
      state_.TakeBack(before);
    }
    if (!choice.may_close || !close()) return fail();
    options_.resize(first_option);
  }
  return true;
}

// Returns whether options_[first, last) has an equal item with a lower index. Of equal items the
// lowest index goes below.
bool ExactSearch::SameAsEarlier(size_t first, size_t last, int32_t index) const {
  const Item& item = state_.item(index);
  for (size_t j = first; j < last && item.plain; ++j) {
    const Item& other = state_.item(options_[j]);
    if (options_[j] < index && other.plain && other.begin == item.begin && other.end == item.end &&
        other.end_height == item.end_height &&
        instance_.alignment(other.group) == instance_.alignment(item.group) &&
        instance_.residue(other.group) == instance_.residue(item.group)) {
      return true;
    }
  }
  return false;
}

}  // namespace ashlar::memory

#include "memory/exact_search.h"

#include <algorithm>

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

SearchOutcome ExactSearch::Run(int64_t capacity, BranchRule rule, const std::vector<int32_t>& rank,
                               int64_t node_limit, absl::Time deadline) {
  const int32_t sections = instance_.sections();
  rule_ = rule;
  rank_ = &rank;
  node_limit_ = node_limit;
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

// Finds the candidates: those that can stand on the floor of a valley. Each must stand on
// something there; had it nothing below it would have sunk.
void ExactSearch::FindCandidates(const Part& part) {
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
  for (int32_t k = part.first; k < part.last; ++k) {
    const Life& life = state_.life(k);
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
    const Life& life = state_.life(k);
    if (life.begin < begin || life.end > end) continue;
    int64_t top = 0;
    for (int32_t s = life.begin; s < life.end; ++s) top = std::max(top, state_.top(s));
    if (state_.item(life.item).height <= height - top) return true;
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
      const Level level = state_.level(s);
      const int32_t begin = s;
      bool empty = true;
      for (; s < part.end && state_.level(s) == level; ++s) {
        empty = empty && (covering_[s] == 0 || valley_end_[s] == 0);
      }
      const Level left = begin == part.begin ? kNoLevel : state_.level(begin - 1);
      const Level right = s == part.end ? kNoLevel : state_.level(s);
      if (!empty || left < level || right < level) continue;
      const Level side = std::min(left, right);
      if (side == kNoLevel || LeavesUsableHole(part, begin, s, side >> 1) ||
          !state_.Lift(begin, s, side, part)) {
        return false;
      }
      lifted = true;
    }
    if (!lifted) return true;
  }
}

// The smaller, the sooner: `options` ways on, `slack` bytes that may be wasted.
double ExactSearch::Score(int32_t section, double options, int64_t slack) const {
  // In units of the capacity.
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
  // The lowest candidate that ends at or before a section, or begins after it, in its valley.
  for (int32_t s = part.begin; s <= part.end; ++s) ends_before_[s] = begins_after_[s] = INT64_MAX;
  for (int32_t i : candidates_) {
    const Item& item = state_.item(i);
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
    const Level level = state_.level(begin);
    Level side = kNoLevel;
    if (begin > part.begin) side = state_.level(begin - 1);
    if (end < part.end) side = std::min(side, state_.level(end));
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
  if (++nodes_ > node_limit_ || (nodes_ % kNodesPerClock == 0 && absl::Now() > deadline_)) {
    gave_up_ = true;
  }
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
      // Forced.
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
      if (SameAsEarlier(first_option, k)) continue;
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

// Whether it has an equal among options_[first, k).
bool ExactSearch::SameAsEarlier(size_t first, size_t k) const {
  const Item& item = state_.item(options_[k]);
  for (size_t j = first; j < k && item.plain; ++j) {
    const Item& other = state_.item(options_[j]);
    if (other.plain && other.begin == item.begin && other.end == item.end &&
        other.end_height == item.end_height) {
      return true;
    }
  }
  return false;
}

}  // namespace ashlar::memory

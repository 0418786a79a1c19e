#include "memory/problem/validator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ashlar::memory {
namespace {

std::string Describe(const Problem& problem, const Plan& plan, int index) {
  const Buffer& b = problem.buffers[index];
  return absl::StrCat("buffer ", b.id, " (index ", index, ", steps [", b.lower, ", ", b.upper,
                      "), ", b.size, " bytes at ", plan.offsets[index], ")");
}

Verdict Blame(const Problem& problem, const Plan& plan, Fault fault, int index,
              const std::string& what) {
  return {fault, index, -1, absl::StrCat(Describe(problem, plan, index), " ", what)};
}

Verdict CheckBuffer(const Problem& problem, const Plan& plan, int index) {
  const Buffer& b = problem.buffers[index];
  const int64_t offset = plan.offsets[index];
  if (offset < 0 || offset > kMaxBytes - b.size) {
    return Blame(problem, plan, Fault::kOutOfRange, index, "is out of range");
  }
  if (offset % b.alignment != 0) {
    return Blame(problem, plan, Fault::kMisaligned, index,
                 absl::StrCat("is not aligned to ", b.alignment));
  }
  if (b.offset.has_value() && *b.offset != offset) {
    return Blame(problem, plan, Fault::kNotAtFixed, index,
                 absl::StrCat("is not at its fixed offset ", *b.offset));
  }
  return {};
}

Verdict CheckInside(const Problem& problem, const Plan& plan) {
  for (const Inside& r : problem.inside) {
    if (plan.offsets[r.inner] == plan.offsets[r.outer] + r.offset) continue;
    return {Fault::kBrokenInside, r.inner, r.outer,
            absl::StrCat(Describe(problem, plan, r.inner), " is not ", r.offset,
                         " bytes inside of ", Describe(problem, plan, r.outer))};
  }
  return {};
}

// Buffers that may share bytes have the same family: union-find with path halving.
class Families {
 public:
  explicit Families(const Problem& problem) : parent_(problem.buffers.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Inside& r : problem.inside) parent_[Find(r.inner)] = Find(r.outer);
  }

  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  std::vector<int> parent_;
};

// The occupied bytes at one step: disjoint pieces, each held by one or more buffers of one family.
class TakenBytes {
 public:
  TakenBytes(const Problem& problem, const Plan& plan)
      : problem_(problem), plan_(plan), families_(problem) {}

  // Returns false if a buffer of another family is in the way.
  bool Take(int buffer) {
    const int64_t bottom = plan_.offsets[buffer];
    const int64_t top = bottom + problem_.buffers[buffer].size;
    Split(bottom);
    Split(top);
    const int family = families_.Find(buffer);
    int64_t at = bottom;
    auto it = pieces_.lower_bound(bottom);
    while (at < top) {
      const bool free = it == pieces_.end() || it->first > at;
      if (free) {
        const int64_t end = it == pieces_.end() ? top : std::min(top, it->first);
        pieces_.emplace_hint(it, at, Piece{end, buffer, 1});
        at = end;
        continue;
      }
      if (families_.Find(it->second.holder) != family) return false;
      ++it->second.holders;
      at = it->second.end;
      ++it;
    }
    return true;
  }

  void Release(int buffer) {
    const int64_t bottom = plan_.offsets[buffer];
    const int64_t top = bottom + problem_.buffers[buffer].size;
    for (auto it = pieces_.find(bottom); it != pieces_.end() && it->first < top;) {
      it = --it->second.holders == 0 ? pieces_.erase(it) : std::next(it);
    }
  }

 private:
  struct Piece {
    int64_t end;
    int holder;
    int holders;
  };

  void Split(int64_t at) {
    auto it = pieces_.lower_bound(at);
    if (it == pieces_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Piece upper = it->second;
    it->second.end = at;
    pieces_.emplace(at, upper);
  }

  const Problem& problem_;
  const Plan& plan_;
  Families families_;
  std::map<int64_t, Piece> pieces_;  // by first byte
};

// Names the buffer that `newcomer` overlaps at its birth.
Verdict BlameOverlap(const Problem& problem, const Plan& plan, int newcomer) {
  Families families(problem);
  const Buffer& b = problem.buffers[newcomer];
  for (int i = 0; i < static_cast<int>(problem.buffers.size()); ++i) {
    const Buffer& other = problem.buffers[i];
    const bool overlaps = other.lower <= b.lower && b.lower < other.upper && other.size > 0 &&
                          plan.offsets[i] < plan.offsets[newcomer] + b.size &&
                          plan.offsets[newcomer] < plan.offsets[i] + other.size;
    if (!overlaps || families.Find(i) == families.Find(newcomer)) continue;
    return {Fault::kOverlap, newcomer, i,
            absl::StrCat(Describe(problem, plan, newcomer), " overlaps ",
                         Describe(problem, plan, i), " at step ", b.lower)};
  }
  return Blame(problem, plan, Fault::kOverlap, newcomer, "overlaps another buffer");
}

Verdict CheckOverlaps(const Problem& problem, const Plan& plan) {
  struct Event {
    int64_t step;
    bool birth;  // deaths come first: lifetimes are half-open
    int buffer;
    bool operator<(const Event& other) const {
      return std::tie(step, birth, buffer) < std::tie(other.step, other.birth, other.buffer);
    }
  };
  std::vector<Event> events;
  events.reserve(2 * problem.buffers.size());
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& b = problem.buffers[i];
    if (b.size == 0) continue;
    events.push_back({b.lower, true, static_cast<int>(i)});
    events.push_back({b.upper, false, static_cast<int>(i)});
  }
  std::sort(events.begin(), events.end());
  TakenBytes taken(problem, plan);
  for (const Event& event : events) {
    if (!event.birth) {
      taken.Release(event.buffer);
      continue;
    }
    if (!taken.Take(event.buffer)) return BlameOverlap(problem, plan, event.buffer);
  }
  return {};
}

}  // namespace

Verdict ValidatePlan(const Problem& problem, const Plan& plan) {
  if (plan.offsets.size() != problem.buffers.size()) {
    return {Fault::kWrongCount, -1, -1,
            absl::StrCat("the plan has ", plan.offsets.size(), " offsets for ",
                         problem.buffers.size(), " buffers")};
  }
  int64_t arena = 0;
  int highest = -1;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (Verdict v = CheckBuffer(problem, plan, static_cast<int>(i)); !v.ok()) return v;
    const int64_t end = plan.offsets[i] + problem.buffers[i].size;
    if (problem.buffers[i].size > 0 && end > arena) {
      arena = end;
      highest = static_cast<int>(i);
    }
  }
  if (Verdict v = CheckInside(problem, plan); !v.ok()) return v;
  if (Verdict v = CheckOverlaps(problem, plan); !v.ok()) return v;
  if (plan.arena != arena) {
    return {Fault::kWrongArena, highest, -1,
            absl::StrCat("the plan claims an arena of ", plan.arena, " bytes; its highest end is ",
                         arena)};
  }
  return {};
}

}  // namespace ashlar::memory

// Segments of neighbouring stages between saved tensors, each with its choices that are not
// dominated in (saved bytes, peak, operations). Dynamic programming over (stage, saved bytes so
// far) then finds the fewest operations within a limit of memory. Nested checkpoints: the solution
// for a range of stages, recomputed once more, is also a segment, of which nothing is saved. The
// form follows Beaumont et al. 2021, "Efficient Combination of Rematerialization and Offloading for
// Training DNNs" (rotor), with options of stages from Zhao et al. 2023, "Rockmate".
#include "training/recompute_nested.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace ashlar {
namespace {

constexpr size_t kLongest = 8;        // most stages of a segment
constexpr size_t kOpen = 48;          // most segments to extend
constexpr size_t kOptions = 160;      // most options that end at one stage
constexpr size_t kFront = 160;        // most paths to a stage
constexpr double kLimitStep = 0.985;  // ratio of one limit of memory to the one before
constexpr int kLimits = 120;
constexpr int kDepth = 2;            // depth of nested recomputation
constexpr double kInnerStep = 0.93;  // ratio of limits for an inner range
constexpr int kInnerLimits = 40;
constexpr size_t kInnerFront = 24;

using Segment = RecomputeTrials::Segment;

struct Option {
  size_t end = 0;
  bool sums_again = false;  // after its end
  Segment cost;
  std::vector<uint32_t> masks;
};

// Reduces a list to `most` evenly spaced elements.
template <typename T>
void KeepEvenly(std::vector<T>& all, size_t most) {
  if (all.size() <= most) return;
  std::vector<T> even;
  for (size_t i = 0; i < most; ++i)
    even.push_back(std::move(all[i * (all.size() - 1) / (most - 1)]));
  all = std::move(even);
}

std::tuple<double, int64_t, int64_t> KeyOf(const Option& option) {
  return {option.cost.operations, option.cost.kept, option.cost.peak};
}

// Keeps the options that no other dominates, by rising operations.
void KeepUndominated(std::vector<Option>& all, size_t most) {
  std::sort(all.begin(), all.end(),
            [](const Option& a, const Option& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<Option> kept;
  for (Option& option : all) {
    const bool dominated = std::any_of(kept.begin(), kept.end(), [&](const Option& other) {
      return other.cost.kept <= option.cost.kept && other.cost.peak <= option.cost.peak;
    });
    if (!dominated) kept.push_back(std::move(option));
  }
  KeepEvenly(kept, most);
  all = std::move(kept);
}

class Nested {
 public:
  Nested(RecomputeTrials& trials, double most)
      : trials_(trials), most_(most), stages_(trials.stages().size()), options_(stages_) {}

  std::vector<StageMasks> Run() {
    FindOptions();
    std::vector<StageMasks> found;
    const StageMasks none(stages_, 0);
    StageMasks all_sums = none;
    for (size_t s = 0; s < stages_; ++s) {
      const std::vector<RecomputeChoice>& choices = trials_.stages()[s].choices;
      for (size_t k = 0; k < choices.size(); ++k) {
        if (choices[k].is_sum) all_sums[s] = WithTimes(all_sums[s], k, kTimesAnew);
      }
    }
    found.push_back(none);
    found.push_back(all_sums);
    auto limit = static_cast<double>(std::max(trials_.Try(none).peak, trials_.Try(all_sums).peak));
    for (int i = 0; i < kLimits; ++i, limit *= kLimitStep) {
      StageMasks masks;
      if (!Solve(static_cast<int64_t>(limit), masks)) break;
      if (masks != found.back()) found.push_back(std::move(masks));
    }
    return found;
  }

 private:
  // A path to a stage: the bytes saved so far, and the previous path.
  struct Way {
    int64_t kept = 0;
    double operations = 0;
    size_t from = 0;          // stage of the previous path
    bool from_again = false;  // whether sums before that stage are recomputed
    size_t way = 0;           // index among the paths there
    const Option* option = nullptr;
  };

  static void KeepUndominatedWays(std::vector<Way>& all, size_t most);

  // By stage, and whether the sums before it are recomputed.
  using Ways = std::vector<std::array<std::vector<Way>, 2>>;

  void FindOptions();
  void FindOptionsFrom(size_t begin, bool sums_again);
  void FindPassedFrom(size_t begin, bool sums_again);
  bool PassedThrough(size_t begin, size_t end, StageMasks& masks) const;
  Ways WaysFrom(size_t begin, bool sums_again, int64_t limit, size_t front) const;
  static const Way* Cheapest(const std::vector<Way>& ways);
  static void TakeMasks(const Ways& ways, const Way& last, StageMasks& masks);
  bool Solve(int64_t limit, StageMasks& masks) const;

  RecomputeTrials& trials_;
  const double most_;
  const size_t stages_;
  std::vector<std::array<std::vector<Option>, 2>>
      options_;  // by stage, and whether sums before it are recomputed
};

// Extends each segment by all choices of the next stage. Segments whose end is saved or recomputed
// by cheap operators become options.
void Nested::FindOptionsFrom(size_t begin, bool sums_again) {
  std::vector<std::vector<uint32_t>> open = {{}};
  std::vector<Option>& options = options_[begin][sums_again ? 1 : 0];
  StageMasks masks(stages_, 0);
  for (size_t s = begin; s < stages_ && s < begin + kLongest && !open.empty(); ++s) {
    std::vector<Option> longer;
    std::array<std::vector<Option>, 2> ended;
    const std::vector<uint32_t> of_stage = MasksOf(trials_.stages()[s], /*nested=*/s == begin);
    for (const std::vector<uint32_t>& front : open) {
      std::copy(front.begin(), front.end(), masks.begin() + static_cast<std::ptrdiff_t>(begin));
      for (const uint32_t mask : of_stage) {
        masks[s] = mask;
        Option option;
        option.end = s + 1;
        option.cost = trials_.TrySegment(begin, s + 1, sums_again, masks);
        if (option.cost.operations > most_) continue;
        option.masks.assign(masks.begin() + static_cast<std::ptrdiff_t>(begin),
                            masks.begin() + static_cast<std::ptrdiff_t>(s + 1));
        const auto boundary = trials_.BoundaryOf(s, masks);
        if (boundary == RecomputeTrials::Boundary::kOpen) {
          longer.push_back(std::move(option));
          continue;
        }
        option.sums_again = boundary == RecomputeTrials::Boundary::kMadeHere;
        ended[option.sums_again ? 1 : 0].push_back(std::move(option));
      }
      masks[s] = 0;
    }
    KeepUndominated(longer, kOpen);
    open.clear();
    for (Option& option : longer) open.push_back(std::move(option.masks));
    for (std::vector<Option>& of_end : ended) {
      KeepUndominated(of_end, kOptions);
      for (Option& option : of_end) options.push_back(std::move(option));
    }
    for (size_t k = begin; k <= s; ++k) masks[k] = 0;
  }
}

void Nested::FindOptions() {
  std::vector<std::array<bool, 2>> reached(stages_ + 1, {false, false});
  reached[0][0] = true;
  for (size_t s = 0; s < stages_; ++s) {
    for (const bool again : {false, true}) {
      if (!reached[s][again ? 1 : 0]) continue;
      FindOptionsFrom(s, again);
      for (const Option& option : options_[s][again ? 1 : 0]) {
        reached[option.end][option.sums_again ? 1 : 0] = true;
      }
    }
  }
  for (int depth = 0; depth < kDepth; ++depth) {
    for (size_t s = stages_; s-- > 0;) {
      for (const bool again : {false, true}) {
        if (reached[s][again ? 1 : 0]) FindPassedFrom(s, again);
      }
    }
  }
}

// Adds options that recompute the best paths from stage `begin` once more.
void Nested::FindPassedFrom(size_t begin, bool sums_again) {
  std::vector<Option>& options = options_[begin][sums_again ? 1 : 0];
  double limit = 0;
  for (const Option& option : options) {
    limit = std::max(limit, static_cast<double>(option.cost.peak));
  }
  std::vector<std::vector<Option>> passed(stages_ + 1);  // by end
  std::set<StageMasks> seen;
  for (int i = 0; i < kInnerLimits; ++i, limit *= kInnerStep) {
    const Ways ways = WaysFrom(begin, sums_again, static_cast<int64_t>(limit), kInnerFront);
    for (size_t end = begin + 2; end <= stages_; ++end) {
      const Way* const way = Cheapest(ways[end][0]);
      if (way == nullptr) continue;
      StageMasks masks(stages_, 0);
      TakeMasks(ways, *way, masks);
      if (!PassedThrough(begin, end, masks) || !seen.insert(masks).second) continue;
      Option option;
      option.end = end;
      option.cost = trials_.TrySegment(begin, end, sums_again, masks);
      if (option.cost.operations > most_) continue;
      option.masks.assign(masks.begin() + static_cast<std::ptrdiff_t>(begin),
                          masks.begin() + static_cast<std::ptrdiff_t>(end));
      passed[end].push_back(std::move(option));
    }
  }
  for (std::vector<Option>& of_end : passed) {
    KeepUndominated(of_end, kOptions);
    for (Option& option : of_end) options.push_back(std::move(option));
  }
}

// Recomputes a range once more: each choice one more time, except its saved end. Returns whether
// the end is saved and no choice exceeds kMostTimes.
bool Nested::PassedThrough(size_t begin, size_t end, StageMasks& masks) const {
  for (size_t s = begin; s < end; ++s) {
    const RecomputeStage& stage = trials_.stages()[s];
    for (size_t k = 0; k < stage.choices.size(); ++k) {
      const RecomputeChoice& choice = stage.choices[k];
      const uint32_t times = TimesIn(masks[s], k);
      if (choice.is_sum && times == kTimesAnew) continue;
      if (s + 1 == end && choice.var == stage.end && times == 0) continue;
      if (times + 1 > kMostTimes) return false;
      masks[s] = WithTimes(masks[s], k, times + 1);
    }
  }
  return trials_.BoundaryOf(end - 1, masks) == RecomputeTrials::Boundary::kKept;
}

void Nested::KeepUndominatedWays(std::vector<Way>& all, size_t most) {
  std::sort(all.begin(), all.end(), [](const Way& a, const Way& b) {
    return std::pair(a.operations, a.kept) < std::pair(b.operations, b.kept);
  });
  std::vector<Way> kept;
  for (Way& way : all) {
    if (kept.empty() || way.kept < kept.back().kept) kept.push_back(way);
  }
  KeepEvenly(kept, most);
  all = std::move(kept);
}

// Returns the paths from stage `begin` within `limit`, at most `front` to each stage.
Nested::Ways Nested::WaysFrom(size_t begin, bool sums_again, int64_t limit, size_t front) const {
  Ways ways(stages_ + 1);
  ways[begin][sums_again ? 1 : 0].push_back({});
  for (size_t s = begin; s < stages_; ++s) {
    for (const bool again : {false, true}) {
      std::vector<Way>& here = ways[s][again ? 1 : 0];
      KeepUndominatedWays(here, front);
      for (const Option& option : options_[s][again ? 1 : 0]) {
        for (size_t w = 0; w < here.size(); ++w) {
          const double operations = here[w].operations + option.cost.operations;
          if (here[w].kept + option.cost.peak > limit || operations > most_) continue;
          ways[option.end][option.sums_again ? 1 : 0].push_back(
              {here[w].kept + option.cost.kept, operations, s, again, w, &option});
        }
      }
    }
  }
  return ways;
}

const Nested::Way* Nested::Cheapest(const std::vector<Way>& ways) {
  const auto best = std::min_element(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    return a.operations < b.operations;
  });
  return best == ways.end() ? nullptr : &*best;
}

// Collects the choices of the stages on a path.
void Nested::TakeMasks(const Ways& ways, const Way& last, StageMasks& masks) {
  for (const Way* way = &last; way->option != nullptr;
       way = &ways[way->from][way->from_again ? 1 : 0][way->way]) {
    std::copy(way->option->masks.begin(), way->option->masks.end(),
              masks.begin() + static_cast<std::ptrdiff_t>(way->from));
  }
}

bool Nested::Solve(int64_t limit, StageMasks& masks) const {
  const Ways ways = WaysFrom(0, false, limit, kFront);
  const Way* best = nullptr;
  for (const std::vector<Way>& last : ways[stages_]) {
    const Way* const way = Cheapest(last);
    if (way != nullptr && (best == nullptr || way->operations < best->operations)) best = way;
  }
  if (best == nullptr) return false;
  masks.assign(stages_, 0);
  TakeMasks(ways, *best, masks);
  return true;
}

}  // namespace

std::vector<StageMasks> NestedSearch(RecomputeTrials& trials, double most) {
  return Nested(trials, most).Run();
}

}  // namespace ashlar

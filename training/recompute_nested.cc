// Segments of neighbouring stages between tensors that are kept, each with the choices in it that
// are not dominated in (bytes kept, peak, operations), and dynamic programming over (stage, bytes
// kept so far) for the fewest operations within a limit of memory. The form is that of Beaumont et
// al. 2021, "Efficient Combination of Rematerialization and Offloading for Training DNNs" (rotor),
// with options of stages as in Zhao et al. 2023, "Rockmate".
#include "training/recompute_nested.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

namespace ashlar {
namespace {

constexpr size_t kLongest = 8;        // stages of a segment
constexpr size_t kOpen = 48;          // segments that are made longer
constexpr size_t kOptions = 160;      // that end at one stage
constexpr size_t kFront = 160;        // ways to come to a stage
constexpr double kLimitStep = 0.985;  // from one limit of memory to the next
constexpr int kLimits = 120;

using Segment = RecomputeTrials::Segment;

struct Option {
  size_t end = 0;
  bool sums_again = false;  // at its end
  Segment cost;
  std::vector<uint32_t> masks;
};

// The first `most` that none dominates, by rising operations; of more, those that lie evenly.
template <typename T, typename Key>
void KeepUndominated(std::vector<T>& all, size_t most, Key key) {
  std::stable_sort(all.begin(), all.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
  std::vector<T> kept;
  for (T& candidate : all) {
    const auto k = key(candidate);
    const bool dominated = std::any_of(kept.begin(), kept.end(), [&](const T& other) {
      const auto o = key(other);
      return std::get<0>(o) <= std::get<0>(k) && std::get<1>(o) <= std::get<1>(k) &&
             std::get<2>(o) <= std::get<2>(k);
    });
    if (!dominated) kept.push_back(std::move(candidate));
  }
  if (kept.size() > most) {
    std::vector<T> even;
    for (size_t i = 0; i < most; ++i) {
      even.push_back(std::move(kept[i * (kept.size() - 1) / (most - 1)]));
    }
    kept = std::move(even);
  }
  all = std::move(kept);
}

std::tuple<double, int64_t, int64_t> KeyOf(const Option& option) {
  return {option.cost.operations, option.cost.kept, option.cost.peak};
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
        if (choices[k].is_sum) all_sums[s] |= 1U << k;
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
  // A way to come to a stage: bytes kept so far, and where it came from.
  struct Way {
    int64_t kept = 0;
    double operations = 0;
    size_t from = 0;          // stage
    bool from_again = false;  // its sums
    size_t way = 0;           // among those
    const Option* option = nullptr;
  };

  void FindOptions();
  void FindOptionsFrom(size_t begin, bool sums_again);
  bool Solve(int64_t limit, StageMasks& masks) const;

  RecomputeTrials& trials_;
  const double most_;
  const size_t stages_;
  std::vector<std::array<std::vector<Option>, 2>> options_;  // by stage, and whether sums are again
};

// Extends each segment by all choices of the next stage; those whose end is kept are options.
void Nested::FindOptionsFrom(size_t begin, bool sums_again) {
  std::vector<std::vector<uint32_t>> open = {{}};
  std::vector<Option>& options = options_[begin][sums_again ? 1 : 0];
  StageMasks masks(stages_, 0);
  for (size_t s = begin; s < stages_ && s < begin + kLongest && !open.empty(); ++s) {
    std::vector<Option> longer;
    std::array<std::vector<Option>, 2> ended;
    const uint32_t all = 1U << trials_.stages()[s].choices.size();
    for (const std::vector<uint32_t>& front : open) {
      std::copy(front.begin(), front.end(), masks.begin() + static_cast<std::ptrdiff_t>(begin));
      for (uint32_t mask = 0; mask < all; ++mask) {
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
    KeepUndominated(longer, kOpen, KeyOf);
    open.clear();
    for (Option& option : longer) open.push_back(std::move(option.masks));
    for (std::vector<Option>& of_end : ended) {
      KeepUndominated(of_end, kOptions, KeyOf);
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
}

bool Nested::Solve(int64_t limit, StageMasks& masks) const {
  std::vector<std::array<std::vector<Way>, 2>> ways(stages_ + 1);
  ways[0][0].push_back({});
  const auto key = [](const Way& way) {
    return std::tuple<double, int64_t, int>(way.operations, way.kept, 0);
  };
  for (size_t s = 0; s < stages_; ++s) {
    for (const bool again : {false, true}) {
      std::vector<Way>& here = ways[s][again ? 1 : 0];
      KeepUndominated(here, kFront, key);
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
  const Way* best = nullptr;
  for (const std::vector<Way>& last : ways[stages_]) {
    for (const Way& way : last) {
      if (best == nullptr || way.operations < best->operations) best = &way;
    }
  }
  if (best == nullptr) return false;
  masks.assign(stages_, 0);
  for (const Way* way = best; way->option != nullptr;
       way = &ways[way->from][way->from_again ? 1 : 0][way->way]) {
    std::copy(way->option->masks.begin(), way->option->masks.end(),
              masks.begin() + static_cast<std::ptrdiff_t>(way->from));
  }
  return true;
}

}  // namespace

std::vector<StageMasks> NestedSearch(RecomputeTrials& trials, double most) {
  return Nested(trials, most).Run();
}

}  // namespace ashlar

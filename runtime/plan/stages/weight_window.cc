// Plans the window of streamed weights. Residents lie at its begin. The others share the bytes
// behind them: in the order of their first uses, each takes the place whose bytes are free the
// earliest (least recently used). The step in which they are free says how early its read may
// begin. Which weights are resident is chosen by a simulation of the reader over several choices.
#include "runtime/plan/stages/weight_window.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Shares of the budget that are tried for resident weights.
constexpr int kShares = 16;
// Kernels compute slower while weights are read: by so much of the time of the reads.
constexpr double kReadingSlows = 0.05;

// The bytes behind the residents, as places that are free after a step.
class SharedBytes {
 public:
  SharedBytes(int64_t begin, int64_t end) {
    if (begin < end) places_.push_back({begin, end, -1});
  }

  struct Place {
    int64_t begin = 0, end = 0;
    int after = -1;  // the last step that uses these bytes
  };

  // Takes so many bytes until after step `last`; nothing if no place is free before step `first`.
  std::optional<Place> Take(int64_t bytes, int first, int last) {
    size_t best = places_.size(), best_end = 0;
    int best_after = first;
    for (size_t i = 0; i < places_.size() && places_[i].begin + bytes <= places_.back().end; ++i) {
      int after = -1;
      size_t k = i;
      while (k < places_.size() && places_[k].begin < places_[i].begin + bytes) {
        after = std::max(after, places_[k++].after);
        if (after >= best_after) break;
      }
      if (after >= best_after) continue;
      best = i;
      best_end = k;
      best_after = after;
    }
    if (best == places_.size()) return std::nullopt;
    const Place taken = {places_[best].begin, places_[best].begin + bytes, last};
    std::vector<Place> replacement = {taken};
    const Place& cut = places_[best_end - 1];
    if (cut.end > taken.end) replacement.push_back({taken.end, cut.end, cut.after});
    const auto at = places_.begin() + static_cast<std::ptrdiff_t>(best);
    places_.insert(places_.erase(at, places_.begin() + static_cast<std::ptrdiff_t>(best_end)),
                   replacement.begin(), replacement.end());
    return Place{taken.begin, taken.end, best_after};
  }

 private:
  std::vector<Place> places_;  // by address, without gaps
};

class Planner {
 public:
  explicit Planner(const WindowProblem& problem)
      : problem_(problem), steps_(static_cast<int>(problem.step_ms.size())) {
    by_size_.resize(problem.weights.size());
    std::iota(by_size_.begin(), by_size_.end(), 0);
    by_use_ = by_size_;
    std::stable_sort(by_size_.begin(), by_size_.end(),
                     [&](int a, int b) { return weight(a).bytes < weight(b).bytes; });
    std::stable_sort(by_use_.begin(), by_use_.end(),
                     [&](int a, int b) { return weight(a).first < weight(b).first; });
  }

  // Returns the best window in which weights are read ahead; nothing if none fits.
  std::optional<WeightWindow> Best(int64_t budget) const {
    std::optional<WeightWindow> best;
    const int count = static_cast<int>(by_size_.size());
    const auto cost = [&](const WeightWindow& window) {
      const double reading_ms = problem_.disk.read_ms * static_cast<double>(window.reads.size()) +
                                static_cast<double>(window.read_bytes) / problem_.disk.bytes_per_ms;
      return std::pair(window.expected_ms + kReadingSlows * reading_ms, window.read_bytes);
    };
    for (int largest = 0; largest <= count; largest = std::max(1, 2 * largest)) {
      int tried = -1;
      for (int share = 0; share <= kShares; ++share) {
        const int smallest =
            Smallest(largest, RoundUp(budget, problem_.alignment) * share / kShares);
        if (smallest == tried) continue;
        tried = smallest;
        std::optional<WeightWindow> window = Place(Residents(smallest, largest), budget);
        if (window && (!best || cost(*window) < cost(*best))) best = std::move(window);
      }
    }
    return best;
  }

  // Returns the window in which each weight is read when its first step is due: weights are placed
  // by their first and last uses alone.
  absl::StatusOr<LeastWindow> Least() const {
    memory::Problem buffers;
    for (size_t i = 0; i < problem_.weights.size(); ++i) {
      const WindowProblem::Weight& weight = problem_.weights[i];
      buffers.buffers.push_back({.id = static_cast<int64_t>(i),
                                 .lower = weight.first,
                                 .upper = weight.last + 1,
                                 .size = weight.bytes,
                                 .alignment = problem_.alignment});
    }
    ASHLAR_ASSIGN_OR_RETURN(const memory::PlanResult placed,
                            memory::PlanMemory(buffers, problem_.planner));
    WeightWindow window;
    window.bytes = placed.plan.arena;
    window.offsets = placed.plan.offsets;
    for (const int index : by_use_) window.reads.push_back({index, After(window, index)});
    Finish(window);
    return LeastWindow{std::move(window), static_cast<int>(placed.bottleneck_step)};
  }

 private:
  const WindowProblem::Weight& weight(int index) const { return problem_.weights[index]; }
  int64_t Units(int index) const { return RoundUp(weight(index).bytes, problem_.alignment); }

  // Returns how many of the smallest weights fit into so many bytes beside the largest ones; -1:
  // these do not.
  int Smallest(int largest, int64_t bytes) const {
    const int count = static_cast<int>(by_size_.size());
    for (int i = count - largest; i < count; ++i) bytes -= Units(by_size_[i]);
    if (bytes < 0) return -1;
    int smallest = 0;
    while (smallest < count - largest && (bytes -= Units(by_size_[smallest])) >= 0) ++smallest;
    return smallest;
  }

  std::vector<bool> Residents(int smallest, int largest) const {
    std::vector<bool> resident(by_size_.size(), false);
    const int count = static_cast<int>(by_size_.size());
    for (int i = 0; i < smallest; ++i) resident[by_size_[i]] = true;
    for (int i = count - largest; i < count; ++i) resident[by_size_[i]] = true;
    return resident;
  }

  std::optional<WeightWindow> Place(const std::vector<bool>& resident, int64_t budget) const {
    WeightWindow window;
    window.offsets.resize(resident.size());
    for (size_t i = 0; i < resident.size(); ++i) {
      if (!resident[i]) continue;
      window.offsets[i] = RoundUp(window.bytes, problem_.alignment);
      window.bytes = window.offsets[i] + problem_.weights[i].bytes;
      window.resident.push_back(static_cast<int>(i));
      window.resident_bytes += problem_.weights[i].bytes;
    }
    if (window.bytes > budget) return std::nullopt;
    // The topmost weight needs no whole unit.
    SharedBytes shared(RoundUp(window.bytes, problem_.alignment),
                       RoundUp(budget, problem_.alignment));
    for (const int index : by_use_) {
      if (resident[index]) continue;
      const auto place = shared.Take(Units(index), weight(index).first, weight(index).last);
      if (!place || place->begin + weight(index).bytes > budget) return std::nullopt;
      window.offsets[index] = place->begin;
      window.bytes = std::max(window.bytes, place->begin + weight(index).bytes);
      window.reads.push_back({index, place->after});
    }
    Finish(window);
    return window;
  }

  // Returns WeightWindow::Read::after of a weight that is read after the ones in `window`.
  int After(const WeightWindow& window, int index) const {
    int after = -1;
    for (const WeightWindow::Read& read : window.reads) {
      const int64_t begin = window.offsets[read.weight], other = window.offsets[index];
      const bool overlap =
          begin < other + weight(index).bytes && other < begin + weight(read.weight).bytes;
      if (overlap) after = std::max(after, weight(read.weight).last);
    }
    return after;
  }

  // Sets what follows from the reads: by a simulation of a run that follows other runs.
  void Finish(WeightWindow& window) const {
    double now = 0, read = 0;   // when the step begins, and the reader has time
    std::vector<double> ended;  // by step
    size_t next = 0;
    for (int step = 0; step < steps_; ++step) {
      for (; next < window.reads.size(); ++next) {
        const auto& [index, after] = window.reads[next];
        if (weight(index).first != step) break;
        window.read_bytes += weight(index).bytes;
        read = std::max(read, after < 0 ? 0 : ended[after]) + problem_.disk.read_ms +
               static_cast<double>(weight(index).bytes) / problem_.disk.bytes_per_ms;
        window.waiting_ms += std::max(0.0, read - now);
        now = std::max(now, read);
      }
      window.needed.push_back(static_cast<int>(next));
      ended.push_back(now += problem_.step_ms[step]);
    }
    window.expected_ms = now;
  }

  const WindowProblem& problem_;
  const int steps_;
  std::vector<int> by_size_, by_use_;
};

}  // namespace

absl::StatusOr<LeastWindow> PlanLeastWindow(const WindowProblem& problem) {
  return Planner(problem).Least();
}

std::optional<WeightWindow> PlanReadAhead(const WindowProblem& problem, int64_t budget) {
  return Planner(problem).Best(budget);
}

}  // namespace ashlar

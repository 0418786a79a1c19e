// Which weights are resident, and how early the others are read, are one choice: both take bytes of
// the window. Candidates are tried by a simulation of the reader, and the best is placed.
#include "runtime/plan/stages/weight_window.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Reads begin as early as a disk so many times slower needs.
constexpr double kPaces[] = {8, 4, 2, 1, 0.5, 0.25, 0};
// Choices whose addresses are searched for, if gaps between weights make the best one too large.
constexpr int kTries = 8;

// A choice: how early weights are read, and how many of the largest and smallest are resident.
struct Choice {
  double pace = 0;
  int largest = 0, smallest = 0;
  double expected_ms = 0;
  int64_t read_bytes = 0;
};

class Planner {
 public:
  explicit Planner(const WindowProblem& problem)
      : problem_(problem), steps_(static_cast<int>(problem.step_ms.size())) {
    const auto count = problem.weights.size();
    by_size_.resize(count);
    std::iota(by_size_.begin(), by_size_.end(), 0);
    by_use_ = by_size_;
    std::stable_sort(by_size_.begin(), by_size_.end(),
                     [&](int a, int b) { return weight(a).bytes < weight(b).bytes; });
    std::stable_sort(by_use_.begin(), by_use_.end(),
                     [&](int a, int b) { return weight(a).first < weight(b).first; });
    start_ms_.resize(problem.step_ms.size() + 1, 0);
    std::partial_sum(problem.step_ms.begin(), problem.step_ms.end(), start_ms_.begin() + 1);
  }

  // Returns the choices that fit by their live bytes, the best first.
  std::vector<Choice> Choices(int64_t budget) const {
    budget = RoundUp(budget, problem_.alignment);  // the topmost weight needs no full unit
    std::vector<Choice> choices;
    const int count = static_cast<int>(by_size_.size());
    for (const double pace : kPaces) {
      for (int largest = 0; largest < count; largest = std::max(1, 2 * largest)) {
        Choice choice{pace, largest, 0};
        if (Peak(choice) > budget) continue;
        int low = 0, high = count - largest;  // `low` fits
        while (low < high) {
          choice.smallest = (low + high + 1) / 2;
          if (Peak(choice) <= budget) {
            low = choice.smallest;
          } else {
            high = choice.smallest - 1;
          }
        }
        choice.smallest = low;
        Simulate(choice);
        choices.push_back(choice);
      }
    }
    std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return std::pair(a.expected_ms, a.read_bytes) < std::pair(b.expected_ms, b.read_bytes);
    });
    return choices;
  }

  // Finds addresses, also where they take more than the budget.
  absl::StatusOr<WeightWindow> Place(const Choice& choice, int64_t budget) const {
    const std::vector<bool> resident = Residents(choice);
    const std::vector<int> begins = Begins(choice, resident);
    memory::Problem problem;
    for (size_t i = 0; i < problem_.weights.size(); ++i) {
      const int weight = static_cast<int>(i);
      problem.buffers.push_back({.id = weight,
                                 .lower = begins[i],
                                 .upper = resident[i] ? steps_ : this->weight(weight).last + 1,
                                 .size = this->weight(weight).bytes,
                                 .alignment = problem_.alignment});
    }
    memory::PlanOptions options = problem_.planner;
    options.limits.capacity = budget;
    ASHLAR_ASSIGN_OR_RETURN(const memory::PlanResult placed, memory::PlanMemory(problem, options));
    WeightWindow window;
    window.bytes = placed.plan.arena;
    window.offsets = placed.plan.offsets;
    window.expected_ms = choice.expected_ms;
    window.needed.resize(static_cast<size_t>(steps_), 0);
    for (const int i : by_use_) {
      if (resident[i]) continue;
      window.reads.push_back({i, After(window, i)});
      window.read_bytes += weight(i).bytes;
      ++window.needed[weight(i).first];
    }
    std::partial_sum(window.needed.begin(), window.needed.end(), window.needed.begin());
    for (size_t i = 0; i < resident.size(); ++i) {
      if (!resident[i]) continue;
      window.resident.push_back(static_cast<int>(i));
      window.resident_bytes += weight(static_cast<int>(i)).bytes;
    }
    return window;
  }

 private:
  const WindowProblem::Weight& weight(int index) const { return problem_.weights[index]; }

  std::vector<bool> Residents(const Choice& choice) const {
    std::vector<bool> resident(by_size_.size(), false);
    const int count = static_cast<int>(by_size_.size());
    for (int i = 0; i < choice.smallest; ++i) resident[by_size_[i]] = true;
    for (int i = count - choice.largest; i < count; ++i) resident[by_size_[i]] = true;
    return resident;
  }

  double ReadMs(int index) const {
    return problem_.disk.read_ms +
           static_cast<double>(weight(index).bytes) / problem_.disk.bytes_per_ms;
  }

  // Returns by weight the step in which its read begins, as late as the pace allows. The reader
  // reads one weight after the other.
  std::vector<int> Begins(const Choice& choice, const std::vector<bool>& resident) const {
    std::vector<int> begins(resident.size(), 0);
    double next_ms = start_ms_.back();  // when the read after this one begins
    int step = steps_;
    for (auto it = by_use_.rbegin(); it != by_use_.rend(); ++it) {
      if (resident[*it]) continue;
      next_ms = std::min(next_ms, start_ms_[weight(*it).first]) - choice.pace * ReadMs(*it);
      step = std::min(step, weight(*it).first);
      while (step > 0 && start_ms_[step] > next_ms) --step;
      begins[*it] = step;
    }
    return begins;
  }

  // Returns the most bytes that live at the same time.
  int64_t Peak(const Choice& choice) const {
    const std::vector<bool> resident = Residents(choice);
    const std::vector<int> begins = Begins(choice, resident);
    std::vector<int64_t> change(static_cast<size_t>(steps_) + 1, 0);
    int64_t live = 0;
    for (size_t i = 0; i < resident.size(); ++i) {
      const int64_t bytes = RoundUp(problem_.weights[i].bytes, problem_.alignment);
      if (resident[i]) {
        live += bytes;
        continue;
      }
      change[begins[i]] += bytes;
      change[problem_.weights[i].last + 1] -= bytes;
    }
    int64_t peak = live;
    for (const int64_t bytes : change) peak = std::max(peak, live += bytes);
    return peak;
  }

  // Computes the expected time of a run that follows other runs, and the bytes that it reads.
  void Simulate(Choice& choice) const {
    const std::vector<bool> resident = Residents(choice);
    const std::vector<int> begins = Begins(choice, resident);
    double now = 0, read = 0;  // when the step begins, and the reader has time
    size_t next = 0;
    std::vector<double> began(static_cast<size_t>(steps_), 0);
    for (int step = 0; step < steps_; ++step) {
      began[step] = now;
      for (; next < by_use_.size() && weight(by_use_[next]).first == step; ++next) {
        const int index = by_use_[next];
        if (resident[index]) continue;
        choice.read_bytes += weight(index).bytes;
        read = std::max(read, began[begins[index]]) + ReadMs(index);
        now = std::max(now, read);
      }
      now += problem_.step_ms[step];
    }
    choice.expected_ms = now;
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

  const WindowProblem& problem_;
  const int steps_;
  std::vector<int> by_size_, by_use_;
  std::vector<double> start_ms_;  // by step, and of the end
};

}  // namespace

absl::StatusOr<LeastWindow> FindLeastWindow(const WindowProblem& problem) {
  memory::Problem buffers;
  for (const WindowProblem::Weight& weight : problem.weights) {
    buffers.buffers.push_back({.id = static_cast<int64_t>(buffers.buffers.size()),
                               .lower = weight.first,
                               .upper = weight.last + 1,
                               .size = weight.bytes,
                               .alignment = problem.alignment});
  }
  ASHLAR_ASSIGN_OR_RETURN(const memory::PlanResult plan,
                          memory::PlanMemory(buffers, problem.planner));
  return LeastWindow{plan.plan.arena, static_cast<int>(plan.bottleneck_step)};
}

absl::StatusOr<WeightWindow> PlanWindow(const WindowProblem& problem, int64_t budget) {
  const Planner planner(problem);
  std::vector<Choice> choices = planner.Choices(budget);
  if (choices.size() > kTries) choices.resize(kTries);
  for (const Choice& choice : choices) {
    ASHLAR_ASSIGN_OR_RETURN(WeightWindow window, planner.Place(choice, budget));
    if (window.bytes <= budget) return window;
  }
  // Reads when steps are due, and nothing is resident.
  return planner.Place(Choice(), budget);
}

}  // namespace ashlar

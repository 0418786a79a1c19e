// Beam search (Lowerre 1976, "The HARPY Speech Recognition System") for the order of a segment:
// works in layers of states with the same number of tasks run, and continues with the best by
// (peak, live bytes).
#include <algorithm>
#include <tuple>

#include "runtime/schedule/order_walk.h"
#include "runtime/schedule/search.h"

namespace ashlar {
namespace {

constexpr int64_t kWidest = 512;

// A successor state: a saved state followed by `task` and the tasks that are then free.
struct Candidate {
  int64_t peak = 0;
  int64_t live = 0;
  int state = 0;
  int task = 0;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.peak, a.live, a.state, a.task) < std::tie(b.peak, b.live, b.state, b.task);
  }
};

}  // namespace

std::vector<int> SearchByBeam(ArenaSimulator& arena, const TaskGraph& graph, int segment,
                              int64_t bound, int64_t max_effort) {
  OrderWalk walk(arena, graph, segment);
  const size_t num_tasks = graph.segments[segment].size();
  std::vector<std::vector<Candidate>> candidates(num_tasks + 1);  // by number of tasks run
  const auto expand = [&](int state) {
    const std::vector<int> ready = walk.ready();
    for (int task : ready) {
      walk.Advance(task, bound);
      candidates[walk.num_run()].push_back({walk.peak(), walk.live(), state, task});
      walk.Load(state);
    }
  };
  walk.Settle(bound);
  if (walk.done()) return walk.Path();
  expand(walk.Save());
  for (size_t num_run = 0; num_run <= num_tasks; ++num_run) {
    std::vector<Candidate> layer = std::move(candidates[num_run]);
    std::sort(layer.begin(), layer.end());
    // Divides the remaining effort among the remaining layers; one state is always expanded.
    const int64_t layer_end = walk.effort() + (max_effort - walk.effort()) /
                                                  static_cast<int64_t>(num_tasks + 1 - num_run);
    int64_t width = 0;
    for (const Candidate& candidate : layer) {
      if (width > 0 && (width == kWidest || walk.effort() > layer_end)) break;
      walk.Load(candidate.state);
      walk.Advance(candidate.task, bound);
      if (walk.done()) return walk.Path();
      const int state = walk.Save();
      if (state < 0) continue;
      ++width;
      expand(state);
    }
  }
  return {};  // not reached: some candidate has run all tasks
}

}  // namespace ashlar

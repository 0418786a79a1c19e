// Compares the scheduler with dynamic programming over all possible sets of executed operators,
// without bounds or cuts.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "memory/problem/lower_bound.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "tests/runtime/schedule/random_graphs.h"

namespace ashlar::testing {
namespace {

// Finds the least peak of all orders. Sets are stored as strings, one byte a node.
class Exhaustive {
 public:
  explicit Exhaustive(const TestCase& c) : case_(c) {
    std::unordered_map<std::string, int64_t> layer = {{std::string(c.graph.nodes().size(), 0), 0}};
    const auto steps = std::count(c.model.scheduled.begin(), c.model.scheduled.end(), true);
    for (int64_t step = 0; step < steps; ++step) layer = Next(layer);
    EXPECT_EQ(layer.size(), 1u);
    best_ = layer.begin()->second;
  }
  int64_t best() const { return best_; }
  int64_t sets() const { return sets_; }

 private:
  using Layer = std::unordered_map<std::string, int64_t>;  // set to its least peak so far

  Layer Next(const Layer& layer) {
    Layer next;
    sets_ += static_cast<int64_t>(layer.size());
    for (const auto& [set, peak] : layer) {
      std::vector<int> nodes;
      for (size_t node = 0; node < set.size(); ++node) {
        if (CanRun(set, node)) nodes.push_back(static_cast<int>(node));
      }
      // A node without cost at any time runs at once: otherwise it would only multiply the sets.
      const auto free = std::find_if(nodes.begin(), nodes.end(), [&](int n) { return IsFree(n); });
      if (free != nodes.end()) nodes = {*free};
      for (int node : nodes) {
        std::string more = set;
        more[node] = 1;
        const int64_t bytes = std::max(peak, StepBytes(set, node));
        const auto [it, is_new] = next.try_emplace(std::move(more), bytes);
        if (!is_new) it->second = std::min(it->second, bytes);
      }
    }
    return next;
  }

  bool CanRun(const std::string& set, size_t node) const {
    if (set[node] != 0 || !case_.model.scheduled[node]) return false;
    return MayRun(case_, set, static_cast<int>(node));
  }

  // Returns whether a node neither needs bytes of the arena nor holds any.
  bool IsFree(int node) const {
    const auto outside = [&](int storage) {
      return case_.model.storages[storage].pool != Pool::kArena;
    };
    const std::vector<int>& reads = case_.model.reads[node];
    const std::vector<int>& writes = case_.model.writes[node];
    return case_.workspace[node] == 0 && std::all_of(reads.begin(), reads.end(), outside) &&
           std::all_of(writes.begin(), writes.end(), outside);
  }

  // Returns the bytes live while `node` runs after `set`, by the lifetimes of an order that begins
  // with `set`.
  int64_t StepBytes(const std::string& set, int node) const {
    std::vector<int> order;
    for (size_t i = 0; i < set.size(); ++i) {
      if (set[i] != 0) order.push_back(static_cast<int>(i));
    }
    const int64_t step = static_cast<int64_t>(order.size());
    order.push_back(node);
    for (size_t i = 0; i < set.size(); ++i) {
      if (set[i] == 0 && static_cast<int>(i) != node && case_.model.scheduled[i]) {
        order.push_back(static_cast<int>(i));
      }
    }
    const Lifetimes lifetimes =
        ComputeLifetimes(case_.graph, case_.model, order, case_.workspace, 1);
    const auto profile = memory::LiveProfile(lifetimes.problem);
    EXPECT_TRUE(profile.ok()) << profile.status();
    int64_t bytes = 0;
    for (const memory::LiveBytes& entry : *profile) {
      if (entry.step <= step) bytes = entry.bytes;
    }
    return bytes;
  }

  const TestCase& case_;
  int64_t best_ = 0;
  int64_t sets_ = 0;
};

// Expects the scheduler to find the least peak and to prove it, if more than `least_sets` sets of
// executed operators are possible.
void ExpectExact(const TestCase& c, int64_t least_sets) {
  const Exhaustive exhaustive(c);
  EXPECT_GT(exhaustive.sets(), least_sets);
  const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
  EXPECT_EQ(schedule.peak_bytes, exhaustive.best());
  EXPECT_TRUE(schedule.exact);
}

TEST(ScheduleExhaustive, Inception) { ExpectExact(Inception(/*second_head=*/false), 200); }

// 60 operators, each reading one to three of the latest few vars.
TEST(ScheduleExhaustive, RandomGraphsOf60Operators) {
  for (uint32_t seed = 0; seed < 2; ++seed) {
    SCOPED_TRACE(seed);
    ExpectExact(WideCase(seed, 60, 4), 150);
  }
}

TEST(ScheduleExhaustive, RandomGraphsWithEverySharing) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 12);
    const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
    EXPECT_EQ(schedule.peak_bytes, Exhaustive(c).best());
  }
}

TEST(ScheduleExhaustive, RandomGraphsWithHardEdges) {
  for (uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    TestCase c = RandomCase(seed, 11);
    AddRandomEdges(seed, 8, c);
    const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
    ExpectValidOrder(c, schedule.order);
    EXPECT_EQ(schedule.peak_bytes, Exhaustive(c).best());
  }
}

}  // namespace
}  // namespace ashlar::testing

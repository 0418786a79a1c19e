#include <limits>
#include <map>

#include "runtime/schedule/scheduler.h"
#include "tests/runtime/schedule/peak_of_order.h"
#include "tests/runtime/schedule/random_graphs.h"

namespace ashlar::testing {
namespace {

int64_t Peak(const TestCase& c, absl::Span<const int> order) {
  const auto peak = PeakOfOrder(c.graph, c.model, order, c.workspace);
  EXPECT_TRUE(peak.ok()) << peak.status();
  return *peak;
}

// Schedules, and checks the properties that hold for every graph.
Schedule CheckedSchedule(const TestCase& c) {
  const Schedule schedule = ScheduleMemory(c.graph, c.model, c.workspace);
  ExpectValidOrder(c, schedule.order);
  EXPECT_EQ(schedule.peak_bytes, Peak(c, schedule.order));
  EXPECT_LE(schedule.bound_bytes, schedule.peak_bytes);
  EXPECT_EQ(schedule.exact, schedule.bound_bytes == schedule.peak_bytes);
  const Schedule megengine = ScheduleMegEngine(c.graph, c.model, c.workspace);
  ExpectValidOrder(c, megengine.order);
  EXPECT_EQ(megengine.peak_bytes, Peak(c, megengine.order));
  EXPECT_LE(schedule.peak_bytes, megengine.peak_bytes);
  return schedule;
}

// Finds the least peak of all topological orders; nullopt if there are more than `max_orders`.
class Enumeration {
 public:
  Enumeration(const TestCase& c, int max_orders) : case_(c), orders_left_(max_orders) {
    done_.resize(c.graph.nodes().size());
    remaining_ = std::count(c.model.scheduled.begin(), c.model.scheduled.end(), true);
    Extend();
  }
  std::optional<int64_t> best() const {
    return orders_left_ < 0 ? std::nullopt : std::optional(best_);
  }

 private:
  void Extend() {
    if (orders_left_ < 0) return;
    if (remaining_ == 0) {
      if (--orders_left_ >= 0) best_ = std::min(best_, Peak(case_, order_));
      return;
    }
    for (size_t i = 0; i < done_.size(); ++i) {
      const std::vector<int>& inputs = case_.graph.node(static_cast<int>(i)).inputs;
      if (done_[i] || !case_.model.scheduled[i] ||
          !std::all_of(inputs.begin(), inputs.end(),
                       [&](int var) { return done_[case_.graph.var(var).producer]; })) {
        continue;
      }
      done_[i] = true;
      order_.push_back(static_cast<int>(i));
      --remaining_;
      Extend();
      ++remaining_;
      order_.pop_back();
      done_[i] = false;
    }
  }

  const TestCase& case_;
  int orders_left_;
  int64_t best_ = std::numeric_limits<int64_t>::max();
  int64_t remaining_ = 0;
  std::vector<bool> done_;
  std::vector<int> order_;
};

TEST(ScheduleMemory, IsTheBestOfAllOrdersOfSmallGraphs) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 700; ++seed) {
    SCOPED_TRACE(seed);
    const TestCase c = RandomCase(seed, 3 + static_cast<int>(seed % 7));
    const std::optional<int64_t> best = Enumeration(c, 1000).best();
    if (!best.has_value()) continue;
    ++compared;
    const Schedule schedule = CheckedSchedule(c);
    EXPECT_TRUE(schedule.exact);
    EXPECT_EQ(schedule.peak_bytes, *best);
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 300);
}

TEST(ScheduleMemory, HoldsItsPromisesOnLargerRandomGraphs) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    CheckedSchedule(RandomCase(seed, 20 + static_cast<int>(seed)));
    if (HasFailure()) return;
  }
}

TEST(ScheduleMemory, IsExactOnWideGraphsOf60Operators) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_TRUE(CheckedSchedule(WideCase(seed, 60, 15)).exact);
  }
}

TEST(ScheduleMemory, BeyondExactSearchItIsFarBelowMegEngineAndRepeatable) {
  const TestCase c = WideCase(1, 400, 50);
  const Schedule schedule = CheckedSchedule(c);
  EXPECT_FALSE(schedule.exact);
  EXPECT_GT(schedule.bound_bytes, 0);
  EXPECT_LT(schedule.peak_bytes, ScheduleMegEngine(c.graph, c.model, c.workspace).peak_bytes / 2);
  EXPECT_EQ(schedule.order, ScheduleMemory(c.graph, c.model, c.workspace).order);
}

// Adds a convolution with bias; its output may overwrite the addend `z`.
int ConvBias(TestGraph& g, int64_t bytes, int x, int64_t filter_bytes, std::optional<int> z = {}) {
  std::vector<int> inputs = {x, g.Constant(filter_bytes)};
  TestNode node = {.output_bytes = {bytes}};
  if (z.has_value()) {
    node.aliasing.overwrites = {{.output = 0, .input = 2}};
    inputs.push_back(*z);
  }
  return g.Add(std::move(node), std::move(inputs));
}

// Returns ResNet-50 with batch norm, residual and activation fused into the convolutions; stride on
// the 3x3.
TestCase ResNet50(int64_t batch) {
  TestGraph g;
  const auto bytes = [&](int64_t channels, int64_t side) {
    return batch * channels * side * side * kFloat;
  };
  int64_t side = 112;
  int x = ConvBias(g, bytes(64, side), g.Input(bytes(3, 224)), 64 * 3 * 49 * kFloat);
  side = 56;
  x = g.Compute(bytes(64, side), {x});
  int64_t in = 64;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t mid = int64_t{64} << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t out_side = stage > 0 && block == 0 ? side / 2 : side;
      int shortcut = x;
      if (block == 0) shortcut = ConvBias(g, bytes(4 * mid, out_side), x, in * 4 * mid * kFloat);
      int y = ConvBias(g, bytes(mid, side), x, in * mid * kFloat);
      y = ConvBias(g, bytes(mid, out_side), y, 9 * mid * mid * kFloat);
      x = ConvBias(g, bytes(4 * mid, out_side), y, 4 * mid * mid * kFloat, shortcut);
      in = 4 * mid;
      side = out_side;
    }
  }
  x = g.Compute(bytes(2048, 1), {x});
  x = ConvBias(g, bytes(1000, 1), g.ViewOf(x, 0, bytes(2048, 1)), 2048 * 1000 * kFloat);
  g.Output(g.InPlace({x}));
  return std::move(g).Build();
}

std::vector<int> GivenOrder(const TestCase& c) {
  std::vector<int> order;
  for (size_t i = 0; i < c.graph.nodes().size(); ++i) order.push_back(static_cast<int>(i));
  return order;
}

TEST(ScheduleMemory, ResNet50ReachesTheLeastPeak) {
  const TestCase batch10 = ResNet50(10);
  EXPECT_EQ(Peak(batch10, GivenOrder(batch10)), 64'225'280);  // shortcuts first
  const Schedule schedule = CheckedSchedule(batch10);
  EXPECT_EQ(schedule.peak_bytes, 52'183'040);
  EXPECT_TRUE(schedule.exact);
  EXPECT_EQ(CheckedSchedule(ResNet50(1)).peak_bytes, 5'218'304);
}

TEST(ScheduleMemory, ConstantsComeRightBeforeTheirReader) {
  const TestCase c = ResNet50(1);
  const Schedule schedule = CheckedSchedule(c);
  for (size_t i = 0; i + 1 < schedule.order.size(); ++i) {
    const OperatorNode& node = c.graph.node(schedule.order[i]);
    if (node.op->role() != Role::kConstant) continue;
    const std::vector<int>& inputs = c.graph.node(schedule.order[i + 1]).inputs;
    EXPECT_NE(std::find(inputs.begin(), inputs.end(), node.outputs[0]), inputs.end()) << node.name;
  }
}

TEST(ScheduleMemory, InceptionIsExact) {
  for (bool second_head : {false, true}) {
    SCOPED_TRACE(second_head);
    const TestCase c = Inception(second_head);
    const Schedule schedule = CheckedSchedule(c);
    EXPECT_TRUE(schedule.exact);
    EXPECT_LT(schedule.peak_bytes, Peak(c, GivenOrder(c)));
  }
}

// f_i saves its output for the backward pass. b_i reads it and the gradient b_i+1. w_i, the weight
// gradient, reads f_i-1 and b_i and goes to the caller.
TEST(ScheduleMemory, TrainingRunsWeightGradientsAtOnce) {
  constexpr int kLayers = 60;
  constexpr int64_t kActivation = 1000;
  constexpr int64_t kGradient = 900;
  TestGraph g;
  std::vector<int> forward = {g.Compute(kActivation, {g.Input(1)})};
  for (int i = 1; i < kLayers; ++i) forward.push_back(g.Compute(kActivation, {forward.back()}));
  int gradient = g.Compute(kGradient, {forward.back()});
  for (int i = kLayers - 1; i > 0; --i) {
    g.Output(g.Compute(50, {forward[i - 1], gradient}));
    gradient = g.Compute(kGradient, {forward[i - 1], gradient});
  }
  g.Output(g.Compute(50, {gradient}));
  const TestCase c = std::move(g).Build();
  const Schedule schedule = CheckedSchedule(c);
  EXPECT_TRUE(schedule.exact);
  // All activations are live at the first gradient; later one fewer, with two gradients.
  EXPECT_EQ(schedule.peak_bytes, kLayers * kActivation + kGradient);
}

TEST(ScheduleMemory, FinishesABranchBeforeTheNext) {
  TestGraph g;
  const int x = g.Compute(100, {g.Input(1)});
  std::vector<int> ends;
  std::map<int, int> branch_of;
  for (int branch = 0; branch < 4; ++branch) {
    int y = x;
    for (int i = 0; i < 4; ++i) {
      branch_of[g.NumNodes()] = branch;
      y = g.Compute(10, {y});
    }
    ends.push_back(y);
  }
  g.Output(g.Compute(1, ends));
  const TestCase c = std::move(g).Build();
  const Schedule schedule = CheckedSchedule(c);
  EXPECT_TRUE(schedule.exact);
  int changes = 0;
  int last = -1;
  for (int node : schedule.order) {
    const auto it = branch_of.find(node);
    if (it == branch_of.end()) continue;
    changes += it->second != last;
    last = it->second;
  }
  EXPECT_EQ(changes, 4);
}

TEST(ScheduleMemory, GraphsWithoutTasks) {
  TestGraph g;
  const int x = g.Input(8);
  g.Input(8);
  g.Output(g.ViewOf(x, 0, 8));
  const Schedule schedule = CheckedSchedule(std::move(g).Build());
  EXPECT_EQ(schedule.peak_bytes, 0);
  EXPECT_TRUE(schedule.exact);
}

TEST(ScheduleNodes, MakesTheOrderThatIsWanted) {
  const TestCase c = Inception(false);
  const auto scheduled = [&](Order order) {
    return ScheduleNodes(order, c.graph, c.model, c.workspace).order;
  };
  EXPECT_EQ(scheduled(Order::kLeastPeak), ScheduleMemory(c.graph, c.model, c.workspace).order);
  EXPECT_EQ(scheduled(Order::kMegEngine), ScheduleMegEngine(c.graph, c.model, c.workspace).order);
  EXPECT_EQ(scheduled(Order::kAsGiven), ScheduleAsGiven(c.graph, c.model, c.workspace).order);
}

TEST(ParseOrder, KnowsTwoNames) {
  for (const Order order : {Order::kLeastPeak, Order::kMegEngine}) {
    EXPECT_EQ(*ParseOrder(Name(order)), order);
  }
  const auto unknown = ParseOrder("random");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.status().message(), ::testing::HasSubstr("random"));
}

}  // namespace
}  // namespace ashlar::testing

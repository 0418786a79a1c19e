// The choices of `tune` on the host, among kernels that sleep for known times.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "opr/elemwise.h"
#include "runtime/measure/autotune.h"
#include "tests/runtime/fake_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using Behaviour = ScriptedKernel::Behaviour;

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::function<void(const std::string&)> Sleeps(int milliseconds) {
  return [milliseconds](const std::string&) { Sleep(milliseconds); };
}

// EXP twice, then NEGATE: a problem of two nodes and a problem of one.
Graph Network() {
  GraphMaker make;
  const int data = make.Input("data", {1, 64});
  const int first = make.Add<Elemwise>({ScalarFunction::kExp}, {data});
  const int second = make.Add<Elemwise>({ScalarFunction::kExp}, {first});
  make.Output(make.Add<Elemwise>({ScalarFunction::kNegate}, {second}));
  return std::move(make).Build();
}

Tuning Tune(std::vector<Behaviour> behaviours, KernelRecord& record, TuneOptions options = {}) {
  FakeDevice::Install(std::move(behaviours));
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  request.planning.passes = "none";
  return Value(Autotune(Network(), request, options, record));
}

const TunedProblem& ProblemOf(const Tuning& tuning, int nodes) {
  for (const TunedProblem& problem : tuning.problems) {
    if (problem.nodes == nodes) return problem;
  }
  ADD_FAILURE() << "no problem of " << nodes << " nodes";
  return tuning.problems.front();
}

const std::string& Chosen(const TunedProblem& problem) {
  return problem.trials[problem.chosen].implementation;
}

TEST(TuneHost, TheFasterKernelIsTakenAndItsGainIsStated) {
  KernelRecord record;
  const Tuning tuning = Tune({{.name = "expected", .during = Sleeps(6)},
                              {.name = "slower", .time = 1.1, .during = Sleeps(9)},
                              {.name = "faster", .time = 1.2, .during = Sleeps(2)}},
                             record);
  ASSERT_EQ(tuning.problems.size(), 2u);
  for (const TunedProblem& problem : tuning.problems) {
    EXPECT_EQ(Chosen(problem), "faster");
    ASSERT_TRUE(problem.ratio.has_value());
    EXPECT_LT(problem.ratio->high, 1);
    EXPECT_LE(problem.ratio->low, problem.ratio->median);
    EXPECT_LE(problem.ratio->median, problem.ratio->high);
    for (const TunedProblem::Trial& trial : problem.trials) EXPECT_GT(trial.seconds, 0);
    EXPECT_EQ(record.choices.at(problem.key).variants.at(1), "faster");
  }
  ASSERT_TRUE(tuning.ratio.has_value());
  EXPECT_LT(tuning.ratio->high, 1);
}

TEST(TuneHost, WhatIsSlowerIsNotTaken) {
  KernelRecord record;
  const Tuning tuning = Tune({{.name = "expected", .during = Sleeps(2)},
                              {.name = "slower", .time = 1.1, .during = Sleeps(6)}},
                             record);
  for (const TunedProblem& problem : tuning.problems) {
    EXPECT_EQ(Chosen(problem), "expected");
    EXPECT_FALSE(problem.ratio.has_value());
    EXPECT_EQ(record.choices.at(problem.key).variants.at(1), "expected");
  }
  EXPECT_FALSE(tuning.ratio.has_value());
}

// Fast in its trial (four runs of three nodes), and slow afterwards.
TEST(TuneHost, AGainOfATrialThatIsNotConfirmedIsNotTaken) {
  KernelRecord record;
  int runs = 0;
  const auto lucky = [&runs](const std::string&) { Sleep(++runs <= 12 ? 1 : 8); };
  const Tuning tuning = Tune(
      {{.name = "expected", .during = Sleeps(4)}, {.name = "lucky", .time = 1.1, .during = lucky}},
      record);
  EXPECT_GT(runs, 12) << "it was not confirmed";
  for (const TunedProblem& problem : tuning.problems) {
    EXPECT_EQ(Chosen(problem), "expected");
    EXPECT_FALSE(problem.ratio.has_value());
  }
  EXPECT_FALSE(tuning.ratio.has_value());
}

// A kernel that delays its neighbour, as one does by emptying the caches.
TEST(TuneHost, AKernelThatSlowsTheWholeNetworkIsNotTaken) {
  KernelRecord record;
  bool left = false;
  const auto negate = [&left](int own, const std::string& name) {
    Sleep(own + (name == "NEGATE" && left ? 12 : 0));
    if (name == "NEGATE") left = false;
  };
  const Tuning tuning =
      Tune({{.name = "expected", .during = [&](const std::string& name) { negate(4, name); }},
            {.name = "hasty",
             .time = 1.1,
             .during =
                 [&](const std::string& name) {
                   if (name == "EXP") left = true;
                   negate(name == "EXP" ? 2 : 9, name);
                 }}},
           record);
  EXPECT_EQ(Chosen(ProblemOf(tuning, 2)), "expected");
  EXPECT_FALSE(ProblemOf(tuning, 2).ratio.has_value());
  EXPECT_FALSE(tuning.ratio.has_value());
}

TEST(TuneHost, WhatIsOnRecordIsPresent) {
  KernelRecord record;
  const std::vector<Behaviour> behaviours = {
      {.name = "k/expected", .during = Sleeps(6)},
      {.name = "k/faster", .time = 1.2, .during = Sleeps(2)}};
  ASSERT_TRUE(Tune(behaviours, record).ratio.has_value());
  const Tuning again = Tune(behaviours, record);
  EXPECT_FALSE(again.ratio.has_value());
  for (const TunedProblem& problem : again.problems) EXPECT_EQ(Chosen(problem), "k/faster");
}

TEST(TuneHost, StoppedAtOnceNothingChanges) {
  KernelRecord record;
  const Tuning tuning = Tune({{.name = "expected", .during = Sleeps(2)},
                              {.name = "faster", .time = 1.1, .during = Sleeps(1)}},
                             record, {.stop = [] { return true; }});
  for (const TunedProblem& problem : tuning.problems) EXPECT_FALSE(problem.ratio.has_value());
  EXPECT_TRUE(record.choices.empty());
}

}  // namespace
}  // namespace ashlar::testing

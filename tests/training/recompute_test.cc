// Steps that recompute parts of the forward pass.
#include "training/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/state.h"
#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "tests/support/sanitized.h"
#include "tests/support/tensors.h"
#include "tests/training/small_net.h"
#include "training/recompute_search.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

TrainingGraph Step(Graph model, const char* recompute) {
  TrainingOptions options;
  options.recompute = Value(ParseRecompute(recompute));
  return Value(MakeTrainingGraph(std::move(model), options));
}

struct Trained {
  std::vector<float> losses;
  std::vector<HostTensor> states;
};

Trained Train(Graph model, const char* recompute, int steps) {
  const auto session = Value(TrainingSession::Create(Step(std::move(model), recompute), {}));
  std::mt19937_64 random(7);
  const TensorType& type = session->graph().images_type;
  Trained run;
  for (int step = 0; step < steps; ++step) {
    const HostTensor images = RandomTensor(random, type.shape, -1, 1);
    HostTensor labels = HostTensor::Zeros(DType::kInt32, {type.shape[0]});
    for (int64_t i = 0; i < labels.num_elements(); ++i)
      labels.Set(i, static_cast<double>((step + i) % 3));
    run.losses.push_back(Value(session->Step(images, labels, 0.05)));
  }
  for (const std::string& name : session->states()) {
    run.states.push_back(Value(session->ReadState(name)));
  }
  return run;
}

// Returns two blocks of two convolutions with sums around them; the second has another resolution.
Graph Residual() {
  Net net;
  int x = net.Relu(net.Norm(net.Convolution(net.Input("x", {2, 3, 16, 16}), 16, 3)));
  for (const int64_t stride : {1, 2}) {
    const int64_t channels = 16 * stride;
    int y = net.Relu(net.Norm(net.Convolution(x, channels, 3, stride)));
    y = net.Norm(net.Convolution(y, channels, 3));
    if (stride > 1) x = net.Norm(net.Convolution(x, channels, 1, stride));
    x = net.Relu(net.GraphMaker::Add<Elemwise>({ScalarFunction::kAdd}, {x, y}));
  }
  return std::move(net).Classes(x);
}

// Returns two blocks that widen, filter each channel by itself and narrow, with a sum around the
// second.
Graph Inverted() {
  Net net;
  int x = net.Norm(net.Convolution(net.Input("x", {2, 3, 16, 16}), 8, 3));
  for (int block = 0; block < 2; ++block) {
    int y = net.Clamp(net.Norm(net.Convolution(x, 48, 1)));
    y = net.Clamp(net.Norm(net.Depthwise(y)));
    y = net.Norm(net.Convolution(y, 8, 1));
    x = block == 0 ? y : net.GraphMaker::Add<Elemwise>({ScalarFunction::kAdd}, {x, y});
  }
  return std::move(net).Classes(x);
}

constexpr int64_t kResidualKept = 312448, kResidualAgain = 201344;  // bytes of arenas

struct Case {
  const char* name;
  Graph (*net)();
  int64_t kept, again;  // bytes of the arena
};

class RecomputeTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { cpu::RegisterDevice(); }
};

TEST_P(RecomputeTest, WhatIsCheapIsMadeAgainToTheLastBit) {
  const int steps = kSanitized ? 1 : 5;
  const Trained kept = Train(GetParam().net(), "none", steps),
                again = Train(GetParam().net(), "cheap", steps);
  EXPECT_EQ(again.losses, kept.losses);
  ASSERT_EQ(again.states.size(), kept.states.size());
  for (size_t i = 0; i < kept.states.size(); ++i) {
    const HostTensor &a = again.states[i], &b = kept.states[i];
    ASSERT_EQ(a.bytes(), b.bytes());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0) << "state " << i;
  }
}

// Exact bytes, with one processor's kernels.
TEST_P(RecomputeTest, ArenasAreKnown) {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  const auto arena = [&](const char* recompute) {
    return Value(PlanGraph(Step(GetParam().net(), recompute).step, request))->plan.plan.arena;
  };
  EXPECT_EQ(arena("none"), GetParam().kept);
  EXPECT_EQ(arena("cheap"), GetParam().again);
}

TEST_P(RecomputeTest, PlannedMemoryIsActualAndNothingIsAllocated) {
  const Graph step = Step(GetParam().net(), "cheap").step;
  InputTensors inputs;
  for (const Binding& binding : step.inputs()) {
    const TensorType& type = step.var(binding.var).type;
    inputs[binding.name] = HostTensor::Zeros(type);
  }
  const Measurement measured = Value(Measure(Graph(step), {}, inputs));
  EXPECT_TRUE(measured.ok);
  EXPECT_EQ(measured.arena.actual_bytes, measured.arena.planned_bytes);
  EXPECT_EQ(measured.heap.own_calls, 0);
  EXPECT_TRUE(Value(CheckGuards(step, {}, inputs)).empty());
}

INSTANTIATE_TEST_SUITE_P(Nets, RecomputeTest,
                         ::testing::Values(Case{"residual", Residual, kResidualKept,
                                                kResidualAgain},
                                           Case{"inverted", Inverted, 1001344, 430816}),
                         [](const auto& info) { return std::string(info.param.name); });

// Returns x [2, 16, 8, 8] through convolutions, each followed by a ReLU.
Graph Plain() {
  Net net;
  int x = net.Input("x", {2, 16, 8, 8});
  for (const char* layer : {"1", "2", "3"}) {
    x = net.Relu(net.Convolution(x, 16, 3, 1, absl::StrCat("conv", layer)),
                 absl::StrCat("relu", layer));
  }
  return std::move(net).Classes(x);
}

int64_t Count(const Graph& graph, const std::string& type) {
  const std::vector<std::string> types = ComputingTypes(graph);
  return std::count(types.begin(), types.end(), type);
}

// Only the ReLU reads the convolution's output: saving that instead of the ReLU's saves nothing.
TEST(Recompute, AnActivationIsKeptWhereItsInputWouldHaveToBe) {
  const Graph kept = Step(Plain(), "none").step, again = Step(Plain(), "cheap").step;
  EXPECT_EQ(Count(again, "Elemwise"), Count(kept, "Elemwise"));
  EXPECT_EQ(Count(again, "ConvolutionForward"), 3);
}

TEST(Recompute, NodesAreMadeAgainThatAreAskedFor) {
  cpu::RegisterDevice();
  std::string spec = "cheap";
  const Graph step = Step(Plain(), "none").step;
  for (const OperatorNode& node : step.nodes()) {
    if (node.name == "conv2" || node.name == "relu2") absl::StrAppend(&spec, ",", node.id);
  }
  EXPECT_EQ(Count(Step(Plain(), spec.c_str()).step, "ConvolutionForward"), 4);
  const Trained kept = Train(Plain(), "none", 2), again = Train(Plain(), spec.c_str(), 2);
  for (size_t i = 0; i < kept.losses.size(); ++i) {
    EXPECT_NEAR(again.losses[i], kept.losses[i], 1e-6);
  }
}

// conv2 is recomputed from a copy of conv1. The gradient of conv1's own ReLU needs conv1 only
// later, so a second recomputation frees the copy in between.
TEST(Recompute, WhatIsMadeAgainTwiceIsNotHeldInBetween) {
  cpu::RegisterDevice();
  const Graph step = Step(Plain(), "none").step;
  const auto spec = [&](const char* conv1) {
    std::string text = "cheap";
    for (const OperatorNode& node : step.nodes()) {
      const bool first = node.name == "conv1" || node.name == "relu1";
      const bool other = node.name == "conv2" || node.name == "relu2" || node.name == "conv3" ||
                         node.name == "relu3";
      if (first) absl::StrAppend(&text, ",", node.id, conv1);
      if (other) absl::StrAppend(&text, ",", node.id);
    }
    return text;
  };
  const auto convolutions = [&](const std::string& text) {
    return Count(Step(Plain(), text.c_str()).step, "ConvolutionForward");
  };
  EXPECT_EQ(convolutions(spec("")), 6);
  EXPECT_EQ(convolutions(spec(":2")), 7);
  const auto live = [&](const std::string& text) {
    const Graph graph = Step(Plain(), text.c_str()).step;
    const std::vector<int64_t> none(graph.nodes().size(), 0);
    return ScheduleAsGiven(graph, BuildStorageModel(graph, {}), none).peak_bytes;
  };
  EXPECT_LT(live(spec(":2")), live(spec("")));
  const Trained kept = Train(Plain(), "none", 2), again = Train(Plain(), spec(":2").c_str(), 2);
  for (size_t i = 0; i < kept.losses.size(); ++i) {
    EXPECT_NEAR(again.losses[i], kept.losses[i], 1e-6);
  }
}

TEST_P(RecomputeTest, LessMemoryTakesMoreOperations) {
  const Graph step = Step(GetParam().net(), "none").step;
  const std::vector<RecomputePoint> points = Value(RecomputeFrontier(step, 0.5));
  ASSERT_GT(points.size(), 2u);
  EXPECT_TRUE(points[0].spec.empty());
  EXPECT_EQ(points[1].spec.ToString(), "cheap");
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_LT(points[i].peak_bytes, points[i - 1].peak_bytes);
    EXPECT_GE(points[i].extra_flops, points[i - 1].extra_flops);
    EXPECT_LE(points[i].extra_flops, 0.5);
    const std::string text = points[i].spec.ToString();
    EXPECT_EQ(Value(ParseRecompute(text)).ToString(), text);
  }
  EXPECT_GT(points.back().extra_flops, 0);
}

// Regression: a cheap but saved activation was written as recomputed for each reader.
TEST(Recompute, WhatAPointSaysIsTheStepThatWasMeasured) {
  const Graph step = Step(Plain(), "none").step;
  for (const RecomputePoint& point : Value(RecomputeFrontier(step, 2))) {
    const Graph made = Value(RecomputeStep(step, point.spec));
    const std::vector<int64_t> none(made.nodes().size(), 0);
    EXPECT_EQ(ScheduleAsGiven(made, BuildStorageModel(made, {}), none).peak_bytes, point.peak_bytes)
        << point.spec.ToString();
  }
}

TEST(Recompute, AStepFitsIntoABudget) {
  if (kSanitized) GTEST_SKIP() << "the same plans as without, for longer";
  cpu::RegisterDevice();
  const Graph step = Step(Residual(), "none").step;
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  constexpr double kMost = 0.3;
  const FittedStep least = Value(FitStep(step, 0, kMost, request));
  EXPECT_LT(least.arena_bytes, kResidualAgain);
  EXPECT_LE(least.point.extra_flops, kMost);
  const Graph made = least.graph;
  EXPECT_EQ(Value(PlanGraph(made, request))->plan.plan.arena, least.arena_bytes);
  // No search ran: its points have the peak of their order and not the arena of their plan.
  const std::vector<RecomputePoint> searched = Value(RecomputeFrontier(step, kMost));
  const struct {
    int64_t budget;
    const char* spec;
  } cases[] = {{kResidualKept, "none"}, {kResidualAgain, "cheap"}};
  for (size_t i = 0; i < std::size(cases); ++i) {
    const FittedStep fitted = Value(FitStep(step, cases[i].budget, kMost, request));
    EXPECT_EQ(fitted.point.spec.ToString(), cases[i].spec);
    EXPECT_EQ(fitted.point.peak_bytes, fitted.arena_bytes);
    EXPECT_NE(fitted.point.peak_bytes, searched[i].peak_bytes) << "tells nothing of a search";
  }
  const absl::Status status = FitStep(step, 64, kMost, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("smallest that was found"));
  // Recomputed convolutions may use other kernels.
  const Trained kept = Train(Residual(), "none", 2),
                again = Train(Residual(), least.point.spec.ToString().c_str(), 2);
  for (size_t i = 0; i < kept.losses.size(); ++i) {
    EXPECT_NEAR(again.losses[i], kept.losses[i], 1e-5);
  }
}

TEST(Recompute, SaysWhatItCannotMakeAgain) {
  for (const char* text : {"", "cheap,", "cheap,--3", "all", "cheap;3", "17:", "17:0", "17:255",
                           "17:2:2", "-17:2", ":2"}) {
    EXPECT_EQ(ParseRecompute(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  for (const char* text : {"none", "cheap", "17", "cheap,17,33,-40", "cheap,17:1,33:2,-40"}) {
    EXPECT_EQ(Value(ParseRecompute(text)).ToString(), text);
  }
  TrainingOptions options;
  for (const int id : {0, 123456}) {  // the images, and an unknown node
    options.recompute.nodes = {{id}};
    EXPECT_THAT(MakeTrainingGraph(Plain(), options).status().message(),
                HasSubstr(absl::StrCat("recompute: ", id, " is not a node")));
  }
}

TEST(Recompute, AnUpdateComesWithItsGradient) {
  const Graph step = Step(Plain(), "cheap").step;
  ASSERT_TRUE(CheckStateUse(step).ok());
  const StateUse use = FindStateUse(step);
  size_t updates = 0;
  for (size_t n = 0; n < step.nodes().size(); ++n) updates += use.updates[n];
  EXPECT_EQ(updates, 8u);  // of weights and of their momentum
  const std::vector<std::string> types = ComputingTypes(step);
  // The last layer is updated first; the gradients of others follow.
  const auto update = std::find(types.begin(), types.end(), "SgdUpdate");
  EXPECT_EQ(std::count(update, types.end(), "ConvolutionFilterUpdate"), 3);
}

}  // namespace
}  // namespace ashlar::testing

// Training steps that tile segments of their model, forward and backward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "opr/pooling.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "tests/support/sanitized.h"
#include "tests/training/small_net.h"
#include "training/strip_search.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Returns x [images, 3, 12, 12] through three convolutions with ReLUs, and max pooling.
Graph Windows(int64_t images) {
  Net net;
  int x = net.Input("x", {images, 3, 12, 12});
  x = net.Relu(net.Convolution(x, 16, 3, 1, "conv1"), "relu1");
  x = net.Relu(net.Convolution(x, 16, 3, 1, "conv2"), "relu2");
  PoolingParam halves;
  halves.window_h = halves.window_w = halves.stride_h = halves.stride_w = 2;
  x = net.GraphMaker::Add<PoolingForward>(halves, {x}, "pool");
  x = net.Relu(net.Convolution(x, 16, 3, 1, "conv3"), "relu3");
  return std::move(net).Classes(x);
}

int IdOf(const Graph& graph, const std::string& name) {
  for (const OperatorNode& node : graph.nodes()) {
    if (node.name == name) return node.id;
  }
  ADD_FAILURE() << name;
  return -1;
}

// Returns tiles of one kind from x to the pool, perhaps nested: "batch2(rows3)".
TileSpec Tiles(const Graph& model, const std::string& kind) {
  const std::string segment = absl::StrCat(IdOf(model, "x"), "-", IdOf(model, "pool"), ":");
  return Value(TileSpec::Parse(absl::StrReplaceAll(segment + kind, {{"(", "(" + segment}})));
}

PlanRequest Request() {
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  request.planning.order = Order::kAsGiven;  // planning other orders takes seconds
  return request;
}

std::vector<float> Losses(const Graph& model, TrainingOptions options) {
  const auto session =
      Value(TrainingSession::Create(Value(MakeTrainingGraph(model, options)), Request()));
  std::mt19937_64 random(7);
  const TensorType& type = session->graph().images_type;
  std::vector<float> losses;
  for (int step = 0; step < 4; ++step) {
    const HostTensor images = RandomTensor(random, type.shape, -1, 1);
    HostTensor labels = HostTensor::Zeros(DType::kInt32, {type.shape[0]});
    for (int64_t i = 0; i < labels.num_elements(); ++i) {
      labels.Set(i, static_cast<double>((step + i) % 3));
    }
    losses.push_back(Value(session->Step(images, labels, 0.05)));
  }
  return losses;
}

TEST(Strips, AStepInTilesIsTheSameStep) {
  const Graph model = Windows(2);
  TrainingOptions options;
  for (const auto optimizer : {OptimizerSpec::Kind::kSgd, OptimizerSpec::Kind::kAdam}) {
    options.optimizer.kind = optimizer;
    options.tiles = {};
    options.recompute = {};
    const std::vector<float> whole = Losses(model, options);
    for (const char* kind : {"batch2", "rows4", "lines4", "grid2x2", "batch2(rows3)"}) {
      options.tiles = Tiles(model, kind);
      for (const bool all : {false, true}) {
        options.recompute = {};
        for (const char* name : {"conv1", "relu1", "conv2"}) {
          if (all) options.recompute.nodes.push_back({IdOf(model, name)});
        }
        EXPECT_THAT(Losses(model, options), Pointwise(FloatNear(1e-5F), whole))
            << kind << " " << options.recompute.ToString();
      }
    }
  }
}

// Weight gradients are added to their momentum tile by tile.
TEST(Strips, GradientsOfTilesHaveNoTensor) {
  TrainingOptions options;
  options.tiles = Tiles(Windows(1), "rows4");
  const TrainingGraph graph = Value(MakeTrainingGraph(Windows(1), options));
  const std::vector<std::string> types = ComputingTypes(graph.step);
  EXPECT_EQ(std::count(types.begin(), types.end(), "ConvolutionBackwardFilter"), 0);
  EXPECT_EQ(std::count(types.begin(), types.end(), "ConvolutionFilterUpdate"), 2 * 4 + 1);
}

TEST(Strips, PlannedMemoryIsActualAndNothingIsAllocated) {
  const PlanRequest request = Request();
  const Graph model = Windows(1);
  TrainingOptions options;
  const FittedTraining least =
      Value(FitTraining(Value(MakeTrainingGraph(model, options)), options, 0, 1, request));
  ASSERT_FALSE(least.tiles.empty());
  InputTensors inputs;
  for (const Binding& binding : least.step.graph.inputs()) {
    inputs[binding.name] = HostTensor::Zeros(least.step.graph.var(binding.var).type);
  }
  const Measurement measured = Value(Measure(Graph(least.step.graph), request, inputs));
  EXPECT_TRUE(measured.ok);
  EXPECT_EQ(measured.arena.planned_bytes, least.step.arena_bytes);
  EXPECT_EQ(measured.arena.actual_bytes, least.step.arena_bytes);
  EXPECT_EQ(measured.heap.own_calls, 0);
}

// Returns the live bytes of the arena in the order of the graph.
int64_t LiveBytesOf(const Graph& step) {
  const StorageModel model = BuildStorageModel(step, {});
  return ScheduleAsGiven(step, model, std::vector<int64_t>(step.nodes().size(), 0)).peak_bytes;
}

// Tries all segments, kinds and counts of strips, and all recomputations in them.
TEST(Strips, NoTilesWithWhatIsMadeAgainNeedLessThanTheSmallestBudget) {
  if (kSanitized) GTEST_SKIP() << "the same steps as without, for longer";
  const Graph model = Windows(1);
  const TrainingOptions none;
  const TrainingGraph whole = Value(MakeTrainingGraph(model, none));
  const std::vector<TrainingPoint> points = Value(TrainingFrontier(whole, none, 10));
  const TrainingPoint& least = points.back();
  const int64_t least_bytes = LiveBytesOf(Value(TrainingGraphOf(whole, none, least)).step);
  const std::vector<std::string> names = {"x", "conv1", "relu1", "conv2", "relu2", "pool"};
  int steps = 0;
  for (size_t from = 0; from < names.size(); ++from) {
    for (size_t to = from + 1; to < names.size(); ++to) {
      for (const char* kind : {"rows2", "rows6", "lines6", "grid3x3"}) {
        for (uint32_t mask = 0; mask < 1U << (names.size() - 1); ++mask) {
          TrainingOptions options;
          options.tiles = Value(TileSpec::Parse(
              absl::StrCat(IdOf(model, names[from]), "-", IdOf(model, names[to]), ":", kind)));
          options.recompute.cheap = true;
          for (size_t n = 1; n < names.size(); ++n) {
            if (mask >> (n - 1) & 1) options.recompute.nodes.push_back({IdOf(model, names[n])});
          }
          const auto graph = MakeTrainingGraph(model, options);
          if (!graph.ok()) continue;
          ++steps;
          EXPECT_LE(least_bytes, LiveBytesOf(graph->step))
              << options.tiles.ToString() << " --recompute " << options.recompute.ToString();
        }
      }
    }
  }
  EXPECT_GT(steps, 1000);
}

TEST(Strips, ABudgetThatNothingMadeAgainFitsIsMetInTiles) {
  const PlanRequest request = Request();
  const TrainingOptions none;
  const TrainingGraph whole = Value(MakeTrainingGraph(Windows(1), none));
  constexpr double kMost = 1;
  const int64_t untiled = Value(FitStep(whole.step, 0, kMost, request)).arena_bytes;
  const int64_t budget = untiled * 3 / 4;
  const FittedTraining fits = Value(FitTraining(whole, none, budget, kMost, request));
  EXPECT_LE(fits.step.arena_bytes, budget);
  EXPECT_FALSE(fits.tiles.empty());
  EXPECT_GT(fits.step.point.extra_flops, 0);
  EXPECT_LE(fits.step.point.extra_flops, kMost);
  // The result of a budget can be requested directly.
  TrainingOptions options;
  options.tiles = fits.tiles;
  options.recompute = fits.step.point.spec;
  const TrainingGraph again = Value(MakeTrainingGraph(Windows(1), options));
  EXPECT_EQ(Value(PlanGraph(again.step, request))->plan.plan.arena, fits.step.arena_bytes);
  const absl::Status status = FitTraining(whole, none, 64, kMost, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  // Nothing is recomputed if the budget is no limit.
  EXPECT_TRUE(Value(FitTraining(whole, none, 1 << 30, kMost, request)).tiles.empty());
}

TEST(Strips, NormsByTheBatchAreNotTakenApart) {
  Net net;
  const int x = net.Convolution(net.Input("x", {2, 3, 8, 8}), 8, 3, 1, "conv1");
  const Graph model = std::move(net).Classes(net.Relu(net.Convolution(net.Norm(x), 8, 3), "pool"));
  TrainingOptions options;
  options.tiles = Tiles(model, "rows2");
  EXPECT_THAT(MakeTrainingGraph(model, options).status().message(), HasSubstr("whole batch"));
  options.parameters.batch_statistics = false;
  EXPECT_TRUE(MakeTrainingGraph(model, options).ok());
}

}  // namespace
}  // namespace ashlar::testing

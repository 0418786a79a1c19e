// Donated inputs: they lie in the arena, and their memory is reused after their last reader.
// ASHLAR_RANDOM_CASES=300 tries more graphs than a usual run.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "graph/region.h"
#include "memory/problem/validator.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/session/bind_tensors.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using testing::CountDifferences;
using testing::GraphMaker;
using testing::RandomImageGraph;
using testing::RandomTensor;
using testing::RandomTiles;
using testing::Value;

constexpr int64_t kAlignment = 64;

int RandomGraphs() {
  return static_cast<int>(
      testing::NumberFrom("ASHLAR_RANDOM_CASES", testing::kSanitized ? 10 : 20));
}

PlanRequest Releasing(bool release, const std::string& tiles = "") {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  request.target.release_input = release;
  if (!tiles.empty()) request.target.tiles = Value(TileSpec::Parse(tiles));
  return request;
}

int64_t PlannedArena(const Graph& graph, const PlanRequest& request) {
  return Value(PlanGraph(Graph(graph), request))->plan.plan.arena;
}

// Returns outputs by name: graphs that run in other orders may number them differently.
std::map<std::string, HostTensor> Infer(Session& session, const InputTensors& inputs) {
  std::vector<HostTensor> outputs = Value(BindTensors(session, inputs));
  EXPECT_TRUE(testing::IsOk(session.Run()));
  std::map<std::string, HostTensor> named;
  const std::vector<Binding>& bindings = session.executable().graph().outputs();
  for (size_t i = 0; i < outputs.size(); ++i) named[bindings[i].name] = std::move(outputs[i]);
  return named;
}

void ExpectEqual(const std::map<std::string, HostTensor>& got,
                 const std::map<std::string, HostTensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, value] : expected) EXPECT_EQ(CountDifferences(got.at(name), value), 0);
}

std::unique_ptr<Session> SessionOf(const Graph& graph, const PlanRequest& request) {
  return Value(Session::Create(Value(Executable::Compile(Graph(graph), request))));
}

// Returns an image of `channels` x `rows` x `rows`, a 3x3 convolution, and a mean.
Graph Pyramid(int64_t channels, int64_t rows) {
  GraphMaker maker;
  std::mt19937_64 random(7);
  const int x = maker.Input("x", {1, channels, rows, rows});
  ConvBiasParam param;
  param.pad_h = param.pad_w = 1;
  param.stride_h = param.stride_w = 2;
  const auto weights = [&](const Shape& shape) {
    return maker.Constant(RandomTensor(random, shape));
  };
  const int a = maker.Add<ConvBiasForward>(
      param, {x, weights({16, channels, 3, 3}), weights({1, 16, 1, 1})}, "a");
  const int b =
      maker.Add<ConvBiasForward>(param, {a, weights({16, 16, 3, 3}), weights({1, 16, 1, 1})}, "b");
  PoolingParam mean;
  mean.mode = PoolingMode::kAverage;
  mean.window_h = mean.window_w = rows / 4;
  maker.Output(maker.Add<PoolingForward>(mean, {b}, "y"));
  return std::move(maker).Build();
}

// Returns tiles like "0-7:lines16", from the input to the operator before the mean.
std::string Tiles(const Graph& graph, const char* kind) {
  for (const OperatorNode& node : graph.nodes()) {
    if (node.name == "b") {
      return absl::StrCat(graph.node(graph.inputs()[0].node).id, "-", node.id, ":", kind);
    }
  }
  return "";
}

class ReleaseInput : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

// Arenas of a plan without and with a donated input, to the byte.
struct Row {
  const char* tiles;
  int64_t arena, released;  // bytes
};

TEST_F(ReleaseInput, ArenasToTheByte) {
  const Graph graph = Pyramid(1, 32);  // an image of 4096 bytes
  for (const Row& row :
       {Row{"", 20480, 20480}, Row{"lines16", 7168, 7296}, Row{"rolling16", 7168, 7296}}) {
    SCOPED_TRACE(row.tiles);
    const std::string tiles = *row.tiles == 0 ? "" : Tiles(graph, row.tiles);
    EXPECT_EQ(PlannedArena(graph, Releasing(false, tiles)), row.arena);
    const auto planned = Value(PlanGraph(Graph(graph), Releasing(true, tiles)));
    EXPECT_EQ(planned->plan.plan.arena, row.released);
    EXPECT_EQ(planned->input_bytes(), 0);
    EXPECT_EQ(planned->released_bytes(), 4096);
  }
}

// Overwriting the input's memory too early would change a result.
TEST_F(ReleaseInput, AnyGraphInAnyTilesComputesTheSameInNoMoreMemory) {
  int smaller = 0;
  for (int seed = 0; seed < RandomGraphs(); ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const Graph graph = RandomImageGraph(random, /*joins=*/seed % 3 == 1, 20);
    PlanRequest kept = Releasing(false);
    kept.target.processor.reset();
    kept.target.threads = 1 + seed % 2;
    const Graph rewritten =
        Value(RewriteGraph(Graph(graph), kept.target, kept.planning, {.tiled = true})).graph;
    if (seed % 4 != 0) kept.target.tiles = RandomTiles(random, rewritten);
    for (TileSegment& segment : kept.target.tiles.segments) {
      if (seed % 4 == 3 && segment.kind == TileKind::kLines) segment.kind = TileKind::kRolling;
    }
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " " << kept.target.tiles.ToString());
    PlanRequest released = kept;
    released.target.release_input = true;
    const TensorType& type = graph.var(graph.inputs()[0].var).type;
    const InputTensors inputs = {{graph.inputs()[0].name, RandomTensor(random, type.shape)}};

    const auto plain = SessionOf(graph, kept), given_up = SessionOf(graph, released);
    const PlannedGraph& planned = given_up->executable().planned();
    const int64_t before = plain->executable().planned().plan.plan.arena;
    const int64_t after = planned.plan.plan.arena;
    EXPECT_LE(after, RoundUp(before, kAlignment) + RoundUp(type.bytes(), kAlignment));
    EXPECT_GE(after, type.bytes());
    smaller += after < before + type.bytes();
    EXPECT_TRUE(memory::ValidatePlan(planned.lifetimes.problem, planned.plan.plan).ok());
    const auto expected = Infer(*plain, inputs);
    for (int run = 0; run < 2; ++run) ExpectEqual(Infer(*given_up, inputs), expected);
  }
  EXPECT_GT(smaller, RandomGraphs() / 2) << "memory of the input is used again";
}

TEST_F(ReleaseInput, VerificationCountsItInTheArena) {
  const Graph graph = Pyramid(3, 16);
  for (const std::string& tiles :
       {std::string(), Tiles(graph, "lines8"), Tiles(graph, "rolling8")}) {
    PlanRequest request = Releasing(true, tiles);
    request.target.processor.reset();
    std::mt19937_64 random(1);
    const InputTensors inputs = {{"x", RandomTensor(random, {1, 3, 16, 16})}};
    const Measurement measured = Value(Measure(Graph(graph), request, inputs));
    EXPECT_TRUE(measured.ok);
    EXPECT_EQ(measured.input.planned_bytes, 0);
    EXPECT_GE(measured.arena.actual_bytes, 3 * 16 * 16 * 4);
    EXPECT_LE(measured.arena.actual_bytes, measured.arena.planned_bytes);
    EXPECT_TRUE(Value(CheckGuards(Graph(graph), request, inputs)).empty());
  }
}

TEST_F(ReleaseInput, IsWrittenInTheArenaBeforeEachRun) {
  const Graph graph = Pyramid(3, 16);
  PlanRequest request = Releasing(true, Tiles(graph, "rolling8"));
  request.target.processor.reset();
  const auto session = SessionOf(graph, request);
  std::mt19937_64 random(1);
  const HostTensor image = RandomTensor(random, {1, 3, 16, 16});
  const HostTensor expected = Infer(*session, {{"x", image}}).begin()->second;
  std::vector<HostTensor> outputs = OutputTensors(session->executable().graph());
  ASSERT_TRUE(session
                  ->BindOutput(session->executable().graph().outputs()[0].name,
                               outputs[0].mutable_raw(), outputs[0].bytes())
                  .ok());
  for (int run = 0; run < 2; ++run) {
    void* const place = Value(session->PlaceOfInput("x"));
    EXPECT_GE(place, session->arena().data());
    std::memcpy(place, image.raw(), static_cast<size_t>(image.bytes()));
    std::memset(outputs[0].mutable_raw(), 0, static_cast<size_t>(outputs[0].bytes()));
    ASSERT_TRUE(testing::IsOk(session->Run()));
    EXPECT_EQ(CountDifferences(outputs[0], expected), 0);
  }
  // The input was consumed: a run without a new one fails, and a tensor bound afterwards works.
  const absl::Status again = session->Run();
  EXPECT_TRUE(absl::IsFailedPrecondition(again));
  EXPECT_NE(again.message().find("'x' was overwritten by the run before"), std::string::npos);
  ASSERT_TRUE(session->BindInput("x", image.raw(), image.bytes()).ok());
  for (int run = 0; run < 2; ++run) EXPECT_TRUE(testing::IsOk(session->Run()));
  EXPECT_EQ(CountDifferences(outputs[0], expected), 0);
}

TEST_F(ReleaseInput, PlacesAreOfInputsThatAreGivenUp) {
  const auto kept = SessionOf(Pyramid(3, 16), [] {
    PlanRequest request = Releasing(false);
    request.target.processor.reset();
    return request;
  }());
  EXPECT_TRUE(absl::IsInvalidArgument(kept->PlaceOfInput("x").status()));
  EXPECT_TRUE(absl::IsNotFound(kept->PlaceOfInput("y").status()));
}

// All inputs are present before the first step, whenever they are read. An input that is also an
// output is copied to the caller; one without a reader still takes its bytes.
TEST_F(ReleaseInput, OfSeveralInputsEachIsThereFromTheStart) {
  GraphMaker maker;
  const int x = maker.Input("x", {1, 4, 8, 8}), y = maker.Input("y", {1, 4, 8, 8});
  maker.Input("unread", {1, 4, 8, 8});
  int sum = x;
  for (int i = 0; i < 3; ++i) sum = maker.Add<Elemwise>({ScalarFunction::kExp}, {sum});
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kAdd}, {sum, y}));
  maker.Output(y);
  const Graph graph = std::move(maker).Build();
  PlanRequest request = Releasing(true);
  request.target.processor.reset();
  std::mt19937_64 random(3);
  InputTensors inputs;
  for (const Binding& input : graph.inputs()) {
    inputs[input.name] = RandomTensor(random, {1, 4, 8, 8});
  }
  const auto session = SessionOf(graph, request);
  EXPECT_GE(session->executable().planned().plan.plan.arena, 3 * 1024);
  request.target.release_input = false;
  ExpectEqual(Infer(*session, inputs), Infer(*SessionOf(graph, request), inputs));
}

}  // namespace
}  // namespace ashlar

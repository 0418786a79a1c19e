// Several runs in flight on a device with streams: overlap, order and errors.
#include "runtime/session/pipeline.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <utility>

#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/session/bind_tensors.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Two inputs, two outputs, and tensors in the arena that every step overwrites.
Graph Network() {
  std::mt19937_64 random(1);
  GraphMaker make;
  ConvolutionParam padded;
  padded.pad_h = padded.pad_w = 1;
  const int filter = make.Constant(RandomTensor(random, {4, 4, 3, 3}, -0.3, 0.3));
  int y = make.Input("data", {1, 4, 6, 6});
  const int other = make.Input("other", {1, 4, 6, 6});
  for (int i = 0; i < 4; ++i) {
    y = make.Add<ConvolutionForward>(padded, {y, filter});
    y = make.Add<Elemwise>({ScalarFunction::kFuseAddRelu}, {y, other});
  }
  make.Output(make.Add<Elemwise>({ScalarFunction::kTanh}, {y}, "image"));
  make.Output(make.Add<PoolingForward>(
      {.mode = PoolingMode::kAverage, .window_h = 6, .window_w = 6}, {y}, "mean"));
  return std::move(make).Build();
}

// The tensors of one run.
struct Tensors {
  explicit Tensors(uint64_t seed) {
    std::mt19937_64 random(seed);
    data = RandomTensor(random, {1, 4, 6, 6});
    other = RandomTensor(random, {1, 4, 6, 6});
    outputs.push_back(HostTensor::Zeros(DType::kFloat32, {1, 4, 6, 6}));
    outputs.push_back(HostTensor::Zeros(DType::kFloat32, {1, 4, 1, 1}));
  }
  void Bind(Session& session) {
    EXPECT_TRUE(IsOk(BindTensors(session, {{"data", data}, {"other", other}}, outputs)));
  }
  ::testing::AssertionResult Right() const {
    static const Graph* const graph = new Graph(Network());
    const auto expected = Value(EvaluateGraph(*graph, {{"data", data}, {"other", other}}));
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto near = Near(outputs[i], expected[i], 1e-4);
      if (!near) return near << ", output " << static_cast<int>(i);
    }
    return ::testing::AssertionSuccess();
  }

  HostTensor data, other;
  std::vector<HostTensor> outputs;
};

class CudaPipeline : public ::testing::Test {
 protected:
  void TearDown() override {
    device_.interleaving.reset();
    device_.fault = nullptr;
  }
  static std::shared_ptr<const Executable> Compiled() {
    PlanRequest options;
    options.target.comp_node = {CompNode::Type::kGpu, 0, 0};
    return Value(Executable::Compile(Network(), options));
  }
  static std::unique_ptr<Pipeline> Make(const PipelineOptions& options) {
    return Value(Pipeline::Create(Compiled(), options));
  }
  // Runs until every session has recorded.
  static void RunOnceEach(Pipeline& pipeline) {
    for (int i = 0; i < pipeline.in_flight(); ++i) {
      Tensors tensors(static_cast<uint64_t>(i));
      tensors.Bind(*pipeline.next());
      ASSERT_TRUE(IsOk(pipeline.Start()));
      ASSERT_TRUE(IsOk(pipeline.Wait()));
      EXPECT_TRUE(tensors.Right());
    }
  }

  EmulatedDevice& device_ = EmulatedDevice::Install();
};

TEST_F(CudaPipeline, InOneArenaCopiesOverlapAndStepsDoNot) {
  const std::unique_ptr<Pipeline> pipeline = Make({.in_flight = 2});
  RunOnceEach(*pipeline);
  Tensors first(10), second(11);
  first.Bind(*pipeline->next());
  ASSERT_TRUE(IsOk(pipeline->Start()));
  second.Bind(*pipeline->next());
  const int64_t copies = device_.copies_in;
  ASSERT_TRUE(IsOk(pipeline->Start()));
  EXPECT_EQ(device_.copies_in, copies + 2) << "handed over before the first run was waited for";
  ASSERT_EQ(device_.streams.size(), 2u);
  EXPECT_EQ(device_.streams[1]->WorkAlone(), 2) << "the copies of the second run, no step";
  EXPECT_FALSE(device_.streams[0]->idle());
  device_.streams[0]->WorkAlone();
  EXPECT_GE(device_.streams[1]->WorkAlone(), 5) << "now the arena is free";
  ASSERT_TRUE(IsOk(pipeline->Wait()));
  EXPECT_TRUE(first.Right());
  ASSERT_TRUE(IsOk(pipeline->Wait()));
  EXPECT_TRUE(second.Right());
}

TEST_F(CudaPipeline, WithAnArenaEachTheStepsOverlapToo) {
  const std::unique_ptr<Pipeline> pipeline = Make({.in_flight = 2, .arena_each = true});
  RunOnceEach(*pipeline);
  Tensors first(20), second(21);
  first.Bind(*pipeline->next());
  ASSERT_TRUE(IsOk(pipeline->Start()));
  second.Bind(*pipeline->next());
  ASSERT_TRUE(IsOk(pipeline->Start()));
  device_.streams[1]->WorkAlone();
  EXPECT_TRUE(device_.streams[1]->idle());
  EXPECT_FALSE(device_.streams[0]->idle());
  ASSERT_TRUE(IsOk(pipeline->Wait()));
  ASSERT_TRUE(IsOk(pipeline->Wait()));
  EXPECT_TRUE(first.Right());
  EXPECT_TRUE(second.Right());
}

// Streams work in turns, piece by piece, in many orders: runs must not disturb each other.
TEST_F(CudaPipeline, AnyInterleavingGivesTheSameResults) {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    const PipelineOptions options{.in_flight = 1 + static_cast<int>(seed % 4),
                                  .arena_each = seed % 8 > 3};
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << options.in_flight
                                      << " in flight, an arena each: " << options.arena_each);
    device_.interleaving.emplace(seed);
    const std::unique_ptr<Pipeline> pipeline = Make(options);
    std::deque<Tensors> running;
    for (uint64_t run = 0; run < 12; ++run) {
      while (pipeline->next() == nullptr || (run % 5 == 4 && pipeline->running() > 0)) {
        ASSERT_TRUE(IsOk(pipeline->Wait()));
        EXPECT_TRUE(running.front().Right());
        running.pop_front();
      }
      running.emplace_back(100 * seed + run).Bind(*pipeline->next());
      ASSERT_TRUE(IsOk(pipeline->Start()));
    }
    for (; pipeline->running() > 0; running.pop_front()) {
      ASSERT_TRUE(IsOk(pipeline->Wait()));
      EXPECT_TRUE(running.front().Right());
    }
  }
}

TEST_F(CudaPipeline, SaysWhenThereIsNoPlaceAndNothingToWaitFor) {
  const std::unique_ptr<Pipeline> pipeline = Make({.in_flight = 1});
  EXPECT_TRUE(FailsWith(pipeline->Wait(), "no run is on the way"));
  EXPECT_TRUE(FailsWith(pipeline->Start(), "input 'data' is not bound"));
  EXPECT_EQ(pipeline->running(), 0);
  Tensors tensors(1);
  tensors.Bind(*pipeline->next());
  ASSERT_TRUE(IsOk(pipeline->Start()));
  EXPECT_EQ(pipeline->next(), nullptr);
  EXPECT_TRUE(FailsWith(pipeline->Start(), "1 runs are on the way, and no more may be"));
  EXPECT_TRUE(FailsWith(Pipeline::Create(Compiled(), {.in_flight = 0}).status(), "at least 1"));
}

TEST_F(CudaPipeline, HoldsOneArenaOrOneEach) {
  const int64_t before = device_.allocated;
  const std::shared_ptr<const Executable> executable = Compiled();
  const int64_t with_weights = device_.allocated;
  const int64_t arena = executable->planned().plan.plan.arena;
  ASSERT_GT(arena, 0);
  const auto held = [&](const PipelineOptions& options) {
    const std::unique_ptr<Pipeline> pipeline = Value(Pipeline::Create(executable, options));
    EXPECT_EQ(pipeline->device_bytes(), device_.allocated - with_weights);
    return pipeline->device_bytes();
  };
  const int64_t tensors = held({.in_flight = 1}) - arena;
  EXPECT_GT(tensors, 0);
  EXPECT_EQ(held({.in_flight = 3}), arena + 3 * tensors);
  EXPECT_EQ(held({.in_flight = 3, .arena_each = true}), 3 * (arena + tensors));
  const int64_t capacity = std::exchange(device_.capacity, 3 * arena);
  const absl::Status status =
      Pipeline::Create(executable, {.in_flight = 3, .arena_each = true}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(FailsWith(status, "for 3 runs in flight: 3 arenas "));
  device_.capacity = capacity;
  EXPECT_EQ(device_.allocated, with_weights);
  EXPECT_GT(with_weights, before);
}

TEST_F(CudaPipeline, AllocatesNothingOnceEverySessionHasRun) {
  if (!HeapCountingAvailable()) GTEST_SKIP() << "no heap counting in sanitized builds";
  for (const bool arena_each : {false, true}) {
    const std::unique_ptr<Pipeline> pipeline = Make({.in_flight = 2, .arena_each = arena_each});
    RunOnceEach(*pipeline);
    std::vector<Tensors> tensors;
    for (uint64_t seed = 0; seed < 2; ++seed) tensors.emplace_back(seed);
    const int64_t allocated = device_.allocated + device_.staging;
    StartHeapCounting();
    absl::Status status;
    for (size_t run = 0; run < 10; ++run) {
      if (pipeline->next() == nullptr) status.Update(pipeline->Wait());
      tensors[run % 2].Bind(*pipeline->next());
      status.Update(pipeline->Start());
    }
    while (pipeline->running() > 0) status.Update(pipeline->Wait());
    const HeapCounts counts = StopHeapCounting();
    ASSERT_TRUE(IsOk(status));
    EXPECT_EQ(counts.own_calls, 0) << counts.own_bytes << " bytes";
    EXPECT_EQ(device_.allocated + device_.staging, allocated);
    EXPECT_TRUE(tensors[0].Right());
  }
}

// Whichever call fails, one run is lost: the runs before and after it are right.
TEST_F(CudaPipeline, TheErrorOfARunLeavesTheOthersAlone) {
  for (const char* call : {"CopyIn", "Replay", "Mark", "CopyOut", "Wait"}) {
    for (int nth = 1; nth <= 4; ++nth) {
      SCOPED_TRACE(::testing::Message() << call << " number " << nth);
      const std::unique_ptr<Pipeline> pipeline = Make({.in_flight = 3});
      RunOnceEach(*pipeline);
      device_.interleaving.emplace(static_cast<uint64_t>(nth));
      int calls = 0;
      device_.fault = [&](absl::string_view name) {
        return name == call && ++calls == nth ? absl::InternalError("the link is down")
                                              : absl::OkStatus();
      };
      std::deque<Tensors> running;
      int failed = 0, right = 0;
      size_t started = 0;
      const auto wait = [&] {
        const absl::Status status = pipeline->Wait();
        status.ok() ? right += running.front().Right() : ++failed;
        running.pop_front();
      };
      constexpr int kRuns = 9;
      for (uint64_t run = 0; run < kRuns; ++run) {
        if (pipeline->next() == nullptr) wait();
        running.emplace_back(run).Bind(*pipeline->next());
        if (pipeline->Start().ok()) {
          ++started;
          continue;
        }
        EXPECT_TRUE(device_.streams[started % 3]->idle()) << "nothing of the failed run goes on";
        ++failed;
        running.pop_back();
      }
      while (pipeline->running() > 0) wait();
      device_.fault = nullptr;
      EXPECT_EQ(failed, 1);
      EXPECT_EQ(right, kRuns - 1);
    }
  }
}

}  // namespace
}  // namespace ashlar::testing

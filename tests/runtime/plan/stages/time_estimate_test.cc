// Rates of a processor on several threads, and estimates for memory-bound operators.
#include "runtime/plan/stages/time_estimate.h"

#include <gtest/gtest.h>

#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "runtime/schedule/storage.h"
#include "tests/runtime/fake_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

struct Rates {
  int threads;
  double flops, second_level, third_level, memory;  // relative to one thread
};

ProcessorSpeed SpeedOn(int threads) {
  static const Device& host = FakeDevice::Install({});
  return SpeedOf(host, Value(Processor::Parse("avx2/32K/512K")), threads);
}

// Regression: rates beyond the second-level caches grew with the threads. On two threads,
// recomputing in a training step seemed to take half of its time.
TEST(TimeEstimate, ThreadsShareWhatIsBehindTheirCaches) {
  const ProcessorSpeed one = SpeedOn(1);
  for (const Rates& rates : {Rates{1, 1, 1, 1, 1}, Rates{2, 2, 2, 1.1, 2},
                             Rates{4, 4, 4, 1.1, 2.119}, Rates{16, 16, 16, 2.2, 4.237}}) {
    const ProcessorSpeed speed = SpeedOn(rates.threads);
    SCOPED_TRACE(rates.threads);
    EXPECT_NEAR(speed.flops / one.flops, rates.flops, 1e-3);
    EXPECT_NEAR(speed.second_level / one.second_level, rates.second_level, 1e-3);
    EXPECT_NEAR(speed.third_level / one.third_level, rates.third_level, 1e-3);
    EXPECT_NEAR(speed.memory / one.memory, rates.memory, 1e-3);
  }
}

TEST(TimeEstimate, MeasuredSpeedsAreUsedForTheirNumberOfThreads) {
  KernelRecord record;
  record.speeds[2] = {2e8, 3e8, 4e7, 1e7};
  static const Device& host = FakeDevice::Install({});
  const auto speed = [&](int threads) {
    return SpeedOf(host, Value(Processor::Parse("avx2/32K/512K")), threads, &record);
  };
  EXPECT_EQ(speed(2).third_level, 4e7);
  EXPECT_EQ(speed(2).memory, 1e7);
  EXPECT_EQ(speed(2).second_level_bytes, 2 * 512 * 1024);
  EXPECT_EQ(speed(2).flops, 2e8);
  // The time to start a kernel depends on the same processor.
  EXPECT_NEAR(speed(2).kernel_ms / SpeedOn(2).kernel_ms, 1.176, 1e-9);
  EXPECT_EQ(speed(1).third_level, SpeedOn(1).third_level);
}

TEST(TimeEstimate, OfSecondThreadsConvolutionsHaveMoreThanPointwiseOperators) {
  std::mt19937_64 random(1);
  GraphMaker make;
  const int x = make.Input("x", {1, 64, 128, 128});
  const int y =
      make.Add<ConvolutionForward>({}, {x, make.Constant(RandomTensor(random, {64, 64, 3, 3}))});
  make.Output(make.Add<Elemwise>({ScalarFunction::kExp}, {y}));
  const Graph graph = std::move(make).Build();
  const StorageModel model = BuildStorageModel(graph, {});
  const auto speedup = [&](int var) {
    const int node = graph.var(var).producer;
    return EstimateOperator(graph, model, node, SpeedOn(1)) /
           EstimateOperator(graph, model, node, SpeedOn(2));
  };
  EXPECT_GT(speedup(y), 1.8);
  EXPECT_LT(speedup(graph.node(graph.outputs()[0].node).inputs[0]), 1.3);
}

}  // namespace
}  // namespace ashlar::testing

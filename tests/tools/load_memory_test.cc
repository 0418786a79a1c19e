// The memory of loading: weights exist once while passes change them and kernels pack them.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/plan_graph.h"
#include "serialization/native/writer.h"
#include "tests/support/command/command_process.h"
#include "tests/support/status.h"
#include "tools/model.h"
#include "tools/zoo/network_builder.h"

namespace ashlar::testing {
namespace {

constexpr int kLayers = 6, kChannels = 512;
constexpr int64_t kWeights = int64_t{kLayers} * kChannels * kChannels * 9 * 4;  // bytes

// Convolutions with batch norm, all of one size.
Graph Tower() {
  NetworkBuilder net({.batch = 1, .image = 4});
  Feature x = net.ConvBatchNorm("first", "bn", net.Input(), {.channels = kChannels, .kernel = 1});
  for (int i = 0; i < kLayers; ++i) {
    const std::string number = std::to_string(i);
    x = net.ConvBatchNorm("conv" + number, "bn" + number, x,
                          {.channels = kChannels, .kernel = 3, .padding = 1});
  }
  return Value(std::move(net).Finish("out", x));
}

// Resets the peak of resident memory; returns whether that worked.
bool ResetPeak() { return !!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush); }

// Returns the most resident memory that `work` adds.
template <typename Work>
int64_t AddedAtPeak(const Work& work) {
  ResetPeak();
  const int64_t before = ReadResidentSet().current;
  work();
  return ReadResidentSet().peak - before;
}

class LoadMemoryTest : public CommandTest {
 protected:
  void SetUp() override {
    if (!HeapCountingAvailable()) GTEST_SKIP() << "the sanitizer has the memory";
    if (!ResetPeak()) GTEST_SKIP() << "the peak of resident memory cannot be reset here";
  }
  Model Load() {
    cpu::RegisterDevice();
    EXPECT_TRUE(IsOk(WriteModel(Tower(), Path("tower.ash"))));
    ModelFlags flags;
    flags.path = Path("tower.ash");
    return Value(LoadModel(flags, console_));
  }
  static ConsoleFlags Quiet() {
    ConsoleFlags flags;
    flags.quiet = true;
    return flags;
  }
  Console console_{"test", Quiet()};
};

TEST_F(LoadMemoryTest, WeightsAreInMemoryOnceWhileTheyArePacked) {
  Model model = Load();
  PlanRequest request;
  request.planning.kernels.low_workspace = true;
  const int64_t added = AddedAtPeak([&] {
    const auto executable = Value(CompileModel(std::move(model), request, console_));
    EXPECT_GE(executable->planned().weights.bytes, kWeights);
  });
  // One layer in two forms, and memory that is about to be freed.
  EXPECT_LT(added, kWeights + kWeights / 2);
}

// Regression: the untiled graph was packed beside each candidate: 293 MiB for a plan of 105.
TEST_F(LoadMemoryTest, ASearchPacksNothing) {
  Model model = Load();
  PlanRequest request;
  request.target.budget = MemoryBudget{.bytes = 0, .find_smallest = true};
  const int64_t added = AddedAtPeak([&] {
    const auto planned = Value(PlanGraph(std::move(model.graph), request));
    EXPECT_GE(planned->weights.bytes, kWeights);
  });
  EXPECT_LT(added, kWeights / 2);
}

}  // namespace
}  // namespace ashlar::testing

// How much memory loading takes: weights are there once while passes change them and kernels pack
// them.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/measure/process_memory.h"
#include "serialization/native/writer.h"
#include "tests/support/command/command_process.h"
#include "tests/support/status.h"
#include "tools/model.h"
#include "tools/zoo/network_builder.h"

namespace ashlar::testing {
namespace {

using LoadMemoryTest = CommandTest;

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

TEST_F(LoadMemoryTest, WeightsAreInMemoryOnceWhileTheyArePacked) {
  if (!HeapCountingAvailable()) GTEST_SKIP() << "the sanitizer has the memory";
  cpu::RegisterDevice();
  ASSERT_TRUE(IsOk(WriteModel(Tower(), Path("tower.ash"))));
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) {
    GTEST_SKIP() << "the peak of resident memory cannot be reset here";
  }
  const int64_t before = ReadResidentSet().current;
  ConsoleFlags quiet;
  quiet.quiet = true;
  Console console("test", quiet);
  ModelFlags flags;
  flags.path = Path("tower.ash");
  Model model = Value(LoadModel(flags, console));
  PlanRequest request;
  request.means.kernels.least_memory = true;
  const auto executable = Value(CompileModel(std::move(model), request, console));
  EXPECT_GE(executable->planned().weights.bytes, kWeights);
  // One layer in two forms, and what waits to be dropped.
  EXPECT_LT(ReadResidentSet().peak - before, kWeights + kWeights / 2);
}

}  // namespace
}  // namespace ashlar::testing

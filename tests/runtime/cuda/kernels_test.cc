// The kernels of CUDA devices that are our own, compiled for the host.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "opr/table.h"
#include "runtime/cuda/index.h"
#include "tests/cases/kernel_check.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/runtime/cuda/emulation/grid.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

TEST(CudaKernels, ComputeWhatTheirOperatorsMean) {
  constexpr uint64_t kSeed = 11;
  EmulatedDevice& device = EmulatedDevice::Install();
  std::map<std::string, std::set<std::string>> implementations;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  ForEachCase(GpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFatalFailure()) return;
    for (const KernelOutcome& outcome : CheckKernels(device, test)) {
      implementations[std::string(test.op->type())].insert(outcome.implementation);
    }
  });
  // Each way of doing it was met.
  using Names = std::set<std::string>;
  EXPECT_EQ(implementations["Elemwise"], (Names{"elementwise", "elementwise:packs", "nothing"}));
  EXPECT_EQ(implementations["ElemwiseChain"], (Names{"chain", "chain:packs", "nothing"}));
  EXPECT_EQ(implementations["TypeCvt"],
            (Names{"convert", "convert:packs", "convert:strips", "convert:tiles"}));
  EXPECT_EQ(implementations["RelayoutFormat"],
            (Names{"copy", "copy:strided", "transpose:strips", "transpose:tiles"}));
  EXPECT_EQ(implementations["ConvBiasForward"],
            (Names{"depthwise", "depthwise/runs of 4", "depthwise:packs",
                   "depthwise:packs/runs of 4", "direct"}));
  EXPECT_EQ(implementations["PoolingForward"],
            (Names{"pooling", "pooling:packs2", "pooling:packs4", "pooling:packs8", "pooling:teams",
                   "pooling:teams:packs2", "pooling:teams:packs4", "pooling:teams:packs8"}));
  EXPECT_EQ(implementations["Reduce"], (Names{"reduce", "reduce:teams"}));
  for (const OperatorRow& row : OperatorRows()) {
    if (absl::string_view(row.type) == "ImmutableTensor" ||
        absl::string_view(row.type) == "Host2DeviceCopy" ||
        absl::string_view(row.type) == "InputCallback") {
      continue;  // nothing runs for them
    }
    EXPECT_FALSE(implementations[row.type].empty()) << row.type;
  }
}

// What is right whichever thread of a block comes first does not race.
TEST(CudaKernels, DoNotDependOnTheOrderOfThreads) {
  constexpr uint64_t kSeed = 14;
  EmulatedDevice& device = EmulatedDevice::Install();
  SetThreadOrder(ThreadOrder::kBackward);
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  ForEachCase(GpuScope(), kSeed, [&](const KernelCase& test) {
    if (!HasFatalFailure()) CheckKernels(device, test);
  });
  SetThreadOrder(ThreadOrder::kForward);
}

TEST(CudaKernels, DivisorsDivide) {
  Random random(3);
  for (int64_t value :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{64}, int64_t{641}, int64_t{65537},
        (int64_t{1} << 30) - 1, int64_t{1} << 30, (int64_t{1} << 31) - 1}) {
    const cuda::Divisor divisor = cuda::MakeDivisor(value);
    const auto check = [&](int64_t number) {
      EXPECT_EQ(cuda::Quotient(static_cast<uint32_t>(number), divisor), number / value)
          << number << " / " << value;
    };
    for (int64_t number : {int64_t{0}, value - 1, value, value + 1, (int64_t{1} << 31) - 1}) {
      check(std::min(number, (int64_t{1} << 31) - 1));
    }
    for (int i = 0; i < 1000; ++i) check(Pick(random, 0, (int64_t{1} << 31) - 1));
  }
}

TEST(CudaKernels, LargeIndexSpacesAreDividedToo) {
  cuda::Extents extents;
  extents.rank = 3;
  extents.sizes[0] = 5;
  extents.sizes[1] = 1 << 20;
  extents.sizes[2] = 3 << 12;
  extents.elements = extents.sizes[0] * extents.sizes[1] * extents.sizes[2];
  int64_t number = (int64_t{4} * extents.sizes[1] + 777) * extents.sizes[2] + 99;
  EXPECT_EQ(cuda::TakeCoordinate(extents, 2, number), 99);
  EXPECT_EQ(cuda::TakeCoordinate(extents, 1, number), 777);
  EXPECT_EQ(number, 4);
}

}  // namespace
}  // namespace ashlar::testing

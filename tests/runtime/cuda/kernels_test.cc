// Our own kernels for CUDA devices, compiled for the host.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/cuda/index.h"
#include "tests/cases/kernel_check.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/runtime/cuda/emulation/grid.h"
#include "tests/support/sanitized.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {
namespace {

// Operators with several implementations; the cases must use all of them.
const std::map<std::string, std::set<std::string>>& Implementations() {
  static const auto* const names = new std::map<std::string, std::set<std::string>>{
      {"CumSum", {"cum_sum", "cum_sum:teams"}},
      {"Elemwise", {"elementwise", "elementwise:packs", "nothing"}},
      {"ElemwiseChain", {"chain", "chain:packs", "nothing"}},
      {"TypeCvt", {"convert", "convert:packs", "convert:strips", "convert:tiles", "int8:convert"}},
      {"RelayoutFormat", {"copy", "copy:strided", "transpose:strips", "transpose:tiles"}},
      {"ConvBiasForward",
       {"depthwise", "depthwise/runs of 4", "depthwise:packs", "depthwise:packs/runs of 4",
        "direct", "int8:direct", "int8:direct:fours"}},
      {"ElemwiseMultiType", {"int8:function", "int8:sum", "int8:table"}},
      {"PoolingForward",
       {"int8:pooling", "pooling", "pooling:packs2", "pooling:packs4", "pooling:packs8",
        "pooling:teams", "pooling:teams:packs2", "pooling:teams:packs4", "pooling:teams:packs8"}},
      {"Reduce", {"nothing", "reduce", "reduce:teams"}},
  };
  return *names;
}

class CudaKernels : public ::testing::TestWithParam<CaseFile> {};
INSTANTIATE_TEST_SUITE_P(Operators, CudaKernels, ::testing::ValuesIn(AllCaseFiles()), TypeOf);

TEST_P(CudaKernels, ComputeWhatTheirOperatorMeans) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  EmulatedDevice& device = EmulatedDevice::Install();
  std::set<std::string> met;
  Cases cases(GpuScope(/*emulated=*/true), kSeed, [&](const KernelCase& test) {
    if (HasFatalFailure()) return;
    for (const KernelOutcome& outcome : CheckKernels(device, test)) {
      met.insert(outcome.implementation);
    }
  });
  GetParam().add(cases);
  const std::string type = GetParam().type;
  EXPECT_EQ(!met.empty(), device.kernels().Find(type) != nullptr);
  if (const auto it = Implementations().find(type); it != Implementations().end()) {
    EXPECT_EQ(met, it->second);
  }
}

// If the result is right whichever thread of a block runs first, there is no race.
TEST_P(CudaKernels, DoNotDependOnTheOrderOfThreads) {
  if (kSanitized) GTEST_SKIP() << "the accesses are those of the other order";
  constexpr uint64_t kSeed = 14;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  EmulatedDevice& device = EmulatedDevice::Install();
  SetThreadOrder(ThreadOrder::kBackward);
  Cases cases(GpuScope(/*emulated=*/true), kSeed, [&](const KernelCase& test) {
    if (!HasFatalFailure()) CheckKernels(device, test);
  });
  GetParam().add(cases);
  SetThreadOrder(ThreadOrder::kForward);
}

TEST(CudaIndices, DivisorsDivide) {
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

TEST(CudaIndices, LargeIndexSpacesAreDividedToo) {
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

// Runs the CPU's kernels on every case of every operator (tests/cases).
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opr/elemwise.h"
#include "tests/cases/kernel_check.h"
#include "tests/runtime/cpu/opened_device.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

class CpuKernels : public ::testing::TestWithParam<CaseFile> {};
INSTANTIATE_TEST_SUITE_P(Operators, CpuKernels, ::testing::ValuesIn(AllCaseFiles()), TypeOf);

TEST_P(CpuKernels, ComputeWhatTheirOperatorMeans) {
  constexpr uint64_t kSeed = 1;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Device& device = CpuDevice();
  const absl::string_view type = GetParam().type;
  int count = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFatalFailure()) return;
    ++count;
    KernelCase each = test;
    for (each.threads = 1; each.threads <= 2; ++each.threads) {
      each.unaligned = each.threads == 2;
      for (const KernelOutcome& outcome : CheckKernels(device, each)) {
        EXPECT_FALSE(absl::StartsWith(type, "Conv") &&
                     absl::StrContains(outcome.implementation, "ref"))
            << outcome.implementation;
      }
    }
  });
  if (type == "ElemwiseChain" || type == "MatrixMulBias") {  // passes make them only for GPUs
    EXPECT_EQ(device.kernels().Find(type), nullptr);
    return;
  }
  GetParam().add(cases);
  const bool composed = type == "Convolution3DForward" || type == "LSTM";  // on every device
  EXPECT_EQ(count > 0 && !composed, device.kernels().Find(type) != nullptr);
}

TEST(CpuKernelsTest, SameBitsWithAnyNumberOfThreads) {
  std::mt19937_64 random(1);
  KernelCase test{"threads",
                  Make<Elemwise>({ScalarFunction::kTanh}),
                  {RandomTensor(random, DType::kFloat32, {100003}, -3, 3)}};
  const auto one = CheckKernels(CpuDevice(), test);
  test.threads = 3;
  const auto three = CheckKernels(CpuDevice(), test);
  ASSERT_EQ(one.size(), three.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].outputs == three[i].outputs) << one[i].implementation;
  }
}

TEST(CpuKernelsTest, AConcatenationMovesItsFirstInputOverItself) { CheckMoves(CpuDevice()); }

// 8-bit operators round alike, so all instruction sets give the same bits.
TEST_P(CpuKernels, OfEightBitsGiveTheSameBitsOnEveryInstructionSet) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::vector<Processor> processors;
  for (const char* set : {"baseline", "neon", "avx2", "avx2_vnni", "avx512", "avx512_vnni"}) {
    const Processor each = Value(Processor::Parse(absl::StrCat(set, "/32K/1M")));
    if (CpuDevice().processor().Runs(each)) processors.push_back(each);
  }
  std::set<std::string> implementations;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || !IsQuantized(test.inputs[0].dtype())) return;
    std::vector<std::string> first;
    for (const Processor& processor : processors) {
      KernelCase each = test;
      for (each.threads = 1; each.threads <= 3; each.threads += 2) {
        each.unaligned = each.threads == 3;
        for (const KernelOutcome& outcome : CheckKernels(CpuDevice(), each, processor)) {
          implementations.insert(outcome.implementation);
          if (first.empty()) first = outcome.outputs;
          EXPECT_TRUE(outcome.outputs == first)
              << test.name << " by " << outcome.implementation << ", threads " << each.threads;
        }
      }
    }
  });
  GetParam().add(cases);
  if (GetParam().type != std::string("ConvBiasForward")) return;
  for (const Processor& processor : processors) {
    if (processor.isa == Isa::kBaseline) continue;
    EXPECT_TRUE(
        implementations.contains(absl::StrCat("int8:", processor.instruction_set().ToString())));
  }
}

// A training step gives the same weights, to the last bit, on any number of threads.
TEST_P(CpuKernels, GradientsAreTheSameBitsWithAnyNumberOfThreads) {
  const std::string type = GetParam().type;
  if (!absl::StrContains(type, "Backward") && !absl::StrContains(type, "Training")) return;
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  int count = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || ++count % (kSanitized ? 24 : 3) != 0) return;
    std::vector<std::string> first;
    for (const int threads : {1, 2, 4}) {
      KernelCase each = test;
      each.threads = threads;
      for (const KernelOutcome& outcome : CheckKernels(CpuDevice(), each)) {
        if (first.empty()) first = outcome.outputs;
        EXPECT_TRUE(outcome.outputs == first)
            << test.name << " by " << outcome.implementation << ", threads " << threads;
      }
    }
  });
  GetParam().add(cases);
}

TEST(CpuKernelsTest, ADTypeThatKernelsDoNotTakeIsNamed) {
  std::mt19937_64 random(1);
  const OperatorPtr op = Make<Elemwise>({ScalarFunction::kTanh});
  KernelRegistry registry;
  registry.Register<Elemwise>(
      [](const KernelRequest&) -> absl::StatusOr<KernelList> { return KernelList(); },
      {DType::kFloat32, DType::kInt8});
  KernelRequest request;
  request.op = op.get();
  request.inputs = {{DType::kFloat16, {3}}};
  EXPECT_TRUE(FailsWith((*registry.Find("Elemwise"))(request).status(), "take Float32, Int8"));
  request.inputs[0].dtype = DType::kInt8;
  EXPECT_TRUE(IsOk((*registry.Find("Elemwise"))(request).status()));
}

}  // namespace
}  // namespace ashlar::testing

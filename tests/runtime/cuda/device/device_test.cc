// Runs on a device, if one is present: library kernels, our own kernels, and memory.
#include <cmath>
#include <cstdlib>

#include "tests/cases/kernel_check.h"
#include "tests/support/cuda_device.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

TEST_F(CudaLibrary, OtherStreamsAreRefused) {
  EXPECT_TRUE(FailsWith(OpenGpu({CompNode::Type::kGpu, 0, 3}).status(), "ask for stream 0"));
}

class CudaDeviceKernels : public CudaDevice, public ::testing::WithParamInterface<CaseFile> {};
INSTANTIATE_TEST_SUITE_P(Operators, CudaDeviceKernels, ::testing::ValuesIn(AllCaseFiles()), TypeOf);

TEST_P(CudaDeviceKernels, ComputeWhatTheirOperatorMeans) {
  constexpr uint64_t kSeed = 12;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Cases cases(GpuScope(Emulated()), kSeed, [&](const KernelCase& test) {
    if (!HasFatalFailure()) CheckKernels(*device_, test);
  });
  GetParam().add(cases);
}

bool AllFinite(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (!std::isfinite(tensor.At(i))) return false;
  }
  return true;
}

// Tensor cores multiply several groups at once, with zeros between them, so infinities do not stay
// in their group.
TEST_F(CudaDevice, Tf32RoundsOperandsOnly) {
  if (kSanitized) GTEST_SKIP() << "the accesses are those of Float32";
  const int share = Emulated() && !LongTests() ? 6 : 1;
  int cases = 0;
  ForEachCase(GpuScope(Emulated()), 13, [&](const KernelCase& test) {
    const absl::string_view type = test.op->type();
    const bool product =
        type == "ConvBiasForward" || type == "ConvolutionForward" || type == "MatrixMul";
    if (!product || test.inputs[0].dtype() != DType::kFloat32 || HasFatalFailure()) return;
    if (!AllFinite(test.inputs[0])) return;
    if (cases++ % share != 0) return;
    KernelCase rounded = test;
    rounded.policy.allow_tf32 = true;
    rounded.gpu_tolerance = 2e-2;  // of the sums; the activation may cancel most of them
    CheckKernels(*device_, rounded);
  });
}

// Checks candidates that are chosen only after timing, compiled engines included, also with z in
// the output's memory. All cases have 14,000 kernels, and some take a second to compile:
// ASHLAR_ALL_CASES runs all of them.
TEST_F(CudaDevice, AllCandidatesOfConvolutionsComputeTheSame) {
  if (kSanitized) GTEST_SKIP() << "the accesses are those of the candidates that come first";
  const CaseScope scope = GpuScope(Emulated());
  // An emulated engine is as slow as the reference.
  const int share = std::getenv("ASHLAR_ALL_CASES") != nullptr ? 1 : Emulated() ? 24 : 8;
  int cases = 0;
  ForEachCase(scope, 14, [&](const KernelCase& test) {
    if (test.op->type() != "ConvBiasForward" || HasFatalFailure()) return;
    if (cases++ % share != 0) return;
    KernelCase all = test;
    all.policy.all_candidates = true;
    CheckKernels(*device_, all);
  });
}

TEST_F(CudaDevice, MemoryThatOthersHoldCanBeTriedForAgain) {
  const int64_t total = device_->memory()->total;
  EXPECT_TRUE(IsOk(device_->Allocate(1).status()));  // allocates what comes with the first call
  EXPECT_EQ(device_->Allocate(total * 2).status().code(), absl::StatusCode::kResourceExhausted);
  const int64_t before = device_->memory()->free;
  {
    const std::unique_ptr<DeviceMemory> most = Value(device_->Allocate(before / 10 * 9));
    const absl::Status status = device_->Allocate(before / 2).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_TRUE(FailsWith(status, "try again"));
  }
  EXPECT_TRUE(IsOk(device_->Allocate(before / 2).status()));
  // Drivers keep some memory, and return some, at any time.
  EXPECT_NEAR(device_->memory()->free, before, 64 << 20);
}

}  // namespace
}  // namespace ashlar::testing

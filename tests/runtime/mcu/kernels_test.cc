// Runs the kernels of generated C on this machine, with the cases of their operators (tests/cases).
#include <gtest/gtest.h>

#include "runtime/mcu/mcu_device.h"
#include "tests/cases/kernel_check.h"
#include "tests/support/kernel_request.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

Device& McuDevice() {
  mcu::RegisterDevice();
  return *Value(OpenDevice(mcu::kCompNode));
}

// Returns whether the device supports a request of this kind.
bool Takes(Device& device, const KernelCase& test) {
  const KernelFactory* const factory = device.kernels().Find(test.op->type());
  if (factory == nullptr) return false;
  const KernelRequest request =
      Value(RequestOf(*test.op, test.inputs, test.formats, test.constant));
  return !absl::IsUnimplemented((*factory)(request).status());
}

class McuKernels : public ::testing::TestWithParam<CaseFile> {};
INSTANTIATE_TEST_SUITE_P(Operators, McuKernels, ::testing::ValuesIn(AllCaseFiles()), TypeOf);

TEST_P(McuKernels, ComputeWhatTheirOperatorMeans) {
  constexpr uint64_t kSeed = 1;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Device& device = McuDevice();
  if (device.kernels().Find(GetParam().type) == nullptr) GTEST_SKIP() << "no kernel";
  int count = 0;
  Cases cases({{Format::kNHWC}, {DType::kFloat32}}, kSeed, [&](const KernelCase& test) {
    if (HasFailure() || !Takes(device, test)) return;
    ++count;
    KernelCase each = test;
    for (const bool unaligned : {false, true}) {
      each.unaligned = unaligned;
      CheckKernels(device, each);
    }
  });
  GetParam().add(cases);
  EXPECT_GT(count, 0);
}

TEST(McuDeviceTest, TakesNoTensorThatThirtyTwoBitsDoNotCount) {
  const TensorType large = {DType::kFloat32, {1 << 15, 1 << 15}};
  KernelRequest request;
  request.inputs = request.outputs = {large};
  const absl::StatusOr<KernelList> kernels = (*McuDevice().kernels().Find("Reshape"))(request);
  EXPECT_TRUE(absl::IsUnimplemented(kernels.status())) << kernels.status();
}

}  // namespace
}  // namespace ashlar::testing

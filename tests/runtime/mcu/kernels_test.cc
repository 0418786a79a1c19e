// Runs the kernels of generated C on this machine, with the cases of their operators (tests/cases).
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "opr/elemwise.h"
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

// Returns the reason if the device does not support a request of this kind.
absl::Status Refusal(Device& device, const KernelCase& test) {
  const KernelFactory* const factory = device.kernels().Find(test.op->type());
  if (factory == nullptr) return absl::UnimplementedError("no kernel");
  KernelRequest request = Value(RequestOf(*test.op, test.inputs, test.formats, test.constant));
  // Inferred outputs are row-major, and resized images keep their format.
  if (test.op->type() == "Resize") request.outputs[0].format = test.output_format;
  return (*factory)(request).status();
}

// All reasons for which kernels refuse cases of Float32.
constexpr struct {
  const char *type, *reason;
} kRefusals[] = {
    {"ConvBiasForward", "the filter is computed"},
    {"ConvBiasForward", "bounds of the image"},
    {"ConvolutionForward", "the filter is computed"},
    {"Elemwise", "axes, at most 6"},
    {"Elemwise", "mode "},  // the list is in docs/microcontrollers.md
    {"Reduce", "mode PRODUCT"},
    {"Reduce", "axes between others"},
    {"Reduce", "reduction of no elements"},
    {"Resize", "outputs outside of the region"},
    {"Resize", "along three axes"},
    {"TypeCvt", "from "},
};

bool IsExpected(absl::string_view type, const absl::Status& refusal) {
  return std::any_of(std::begin(kRefusals), std::end(kRefusals), [&](const auto& row) {
    return type == row.type && absl::StrContains(refusal.message(), row.reason);
  });
}

TEST(McuKernelsTest, AConcatenationMovesItsFirstInputOverItself) { CheckMoves(McuDevice()); }

class McuKernels : public ::testing::TestWithParam<CaseFile> {};
INSTANTIATE_TEST_SUITE_P(Operators, McuKernels, ::testing::ValuesIn(AllCaseFiles()), TypeOf);

TEST_P(McuKernels, ComputeWhatTheirOperatorMeans) {
  constexpr uint64_t kSeed = 1;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Device& device = McuDevice();
  if (device.kernels().Find(GetParam().type) == nullptr) GTEST_SKIP() << "no kernel";
  int count = 0;
  Cases cases({{Format::kNHWC}, {DType::kFloat32}}, kSeed, [&](const KernelCase& test) {
    if (HasFailure()) return;
    const absl::Status refusal = Refusal(device, test);
    if (absl::IsUnimplemented(refusal)) {
      const bool floats = !test.inputs.empty() && test.inputs[0].dtype() == DType::kFloat32;
      EXPECT_TRUE(!floats || IsExpected(test.op->type(), refusal)) << test.name << ": " << refusal;
      return;
    }
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

// Values that rounding must not change: whole numbers, halves, zeros of both signs, and roots of
// squares.
TEST(McuDeviceTest, RoundsAndTakesRootsExactly) {
  std::vector<float> values = {-0.0f, 0.0f,   0.5f,       -0.5f,       1.5f,
                               2.5f,  -2.5f,  8388607.5f, -8388607.5f, 8388608.0f,
                               1e30f, -1e30f, 0x1p-149f,  0x1p-126f};
  for (int i = 1; i < 3000; ++i) values.push_back(static_cast<float>(i) * static_cast<float>(i));
  const auto size = static_cast<int64_t>(values.size());
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {size}, values);
  for (const ScalarFunction mode :
       {ScalarFunction::kFloor, ScalarFunction::kCeil, ScalarFunction::kRint}) {
    KernelCase test{RowOf(mode).name, Make<Elemwise>({mode}), {x}};
    test.tolerance = 0;
    CheckKernels(McuDevice(), test);
  }
  KernelCase roots{"roots", Make<Elemwise>({ScalarFunction::kSqrt}), {x}};
  roots.tolerance = 1.2e-7;  // one unit in the last place
  roots.floor = 0;
  CheckKernels(McuDevice(), roots);
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

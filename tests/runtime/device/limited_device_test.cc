#include "runtime/device/limited_device.h"

#include <gtest/gtest.h>

#include "tests/runtime/fake_device.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr CompNode kNode = {CompNode::Type::kGpu, 0, 0};

TEST(LimitedDevice, RefusesWhatIsBeyondAndCountsWhatIsThere) {
  FakeDevice::Install({});
  const auto limited = Value(LimitedDevice::Install(kNode));
  Device& device = *Value(OpenDevice(kNode));
  EXPECT_EQ(&device, &limited->device());
  limited->SetLimit(1000);
  auto first = Value(device.Allocate(600));
  EXPECT_EQ(first->bytes(), 600);
  const absl::Status status = device.Allocate(401).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(FailsWith(status, "401 bytes asked for; of 1000 bytes, the limit, 600 are taken"));
  const auto second = Value(device.AllocateStaging(400));
  EXPECT_EQ(limited->used(), 1000);
  first.reset();
  EXPECT_EQ(limited->used(), 400);
}

TEST(LimitedDevice, RoundsBlocksAsItIsTold) {
  FakeDevice::Install({});
  const auto limited = Value(LimitedDevice::Install(kNode));
  limited->SetLimit(8192, /*granularity=*/4096, /*staging=*/false);
  const auto block = Value(limited->device().Allocate(1)),
             none = Value(limited->device().Allocate(0));
  EXPECT_EQ(limited->used(), 4096);
  EXPECT_FALSE(limited->device().Allocate(4097).ok());
  EXPECT_TRUE(limited->device().AllocateStaging(100000).ok());
}

TEST(LimitedDevice, TheDeviceBehindIsBackAfterwards) {
  FakeDevice& fake = FakeDevice::Install({});
  {
    const auto outer = Value(LimitedDevice::Install(kNode));
    const auto inner = Value(LimitedDevice::Install(kNode));
    outer->SetLimit(100);
    EXPECT_FALSE(Value(OpenDevice(kNode))->Allocate(101).ok()) << "one behind the other";
  }
  EXPECT_EQ(Value(OpenDevice(kNode)), &fake);
  EXPECT_EQ(LimitedDevice::Install({CompNode::Type::kGpu, 0, 0}).status(), absl::OkStatus());
}

}  // namespace
}  // namespace ashlar::testing

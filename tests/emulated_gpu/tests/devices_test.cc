// Sessions on several devices, and threads that use different devices.
#include <gtest/gtest.h>

#include <thread>

#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

TEST(EmulatedDevices, ASessionRunsOnAThreadThatMeansAnotherDevice) {
  Inference inference;
  EmulatedGpu().machine().devices = 2;
  PlanRequest request = OnEmulatedGpu();
  request.target.comp_node.device = 1;
  const std::unique_ptr<Session> session =
      Value(Session::Create(Value(inference.Compile(request))));
  // A new thread starts with the first device.
  std::thread([&] { EXPECT_TRUE(IsOk(inference.Run(*session))); }).join();
  EXPECT_LE(inference.Error(), 1e-4);
}

}  // namespace
}  // namespace ashlar::testing

// Programs that link only the library. It exports nothing but the C interface, so a device's
// library beside it must contain every Ashlar function that it needs.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/emulated_gpu/control.h"
#include "tests/library/c/library_test.h"

namespace ashlar::testing {
namespace {

using DeviceLibraryTest = LibraryTest;

ashlar_plan_options On(const char* device) {
  ashlar_plan_options options = Threads(1);
  options.device = device;
  return options;
}

// Returns the control of the library that the process has opened; null if it has opened none.
emulated::Control* OpenedControl() {
  void* const library = dlopen("libashlar_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<emulated::GetControl>(dlsym(library, emulated::kGetControl))();
}

// Regression: "undefined symbol: ashlar::KernelRegistry::Register", as symbols came from the
// command.
TEST_F(DeviceLibraryTest, AProgramRunsAModelOnTheDevice) {
  const Model model(path_);
  Session host = model.NewPlan(On("cpu0:0")).NewSession();
  const Plan plan = model.NewPlan(On("gpu0:0"));
  Session device = plan.NewSession();
  for (int seed = 0; seed < 3; ++seed) {
    const std::vector<float> expected = RunOnce(host, InputOf(seed));
    const std::vector<float> result = RunOnce(device, InputOf(seed));
    for (int i = 0; i < kOutputs; ++i) EXPECT_NEAR(result[i], expected[i], 1e-5) << i;
  }
  emulated::Control* const gpu = OpenedControl();
  ASSERT_NE(gpu, nullptr);
  EXPECT_TRUE(gpu->misuses().empty()) << gpu->misuses()[0];
  EXPECT_GT(gpu->calls()["cudaGraphLaunch"], 0);
}

// Pinned memory, and a stream that also runs the caller's own work.
TEST_F(DeviceLibraryTest, AProgramHasItsOwnMemoryAndStream) {
  const Model model(path_);
  Session host = model.NewPlan(On("cpu0:0")).NewSession();
  const Plan plan = model.NewPlan(On("gpu0:0"));
  void* const library = dlopen("libashlar_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto create =
      reinterpret_cast<int (*)(void**, unsigned)>(dlsym(library, "cudaStreamCreateWithFlags"));
  const auto destroy = reinterpret_cast<int (*)(void*)>(dlsym(library, "cudaStreamDestroy"));
  const auto create_event = reinterpret_cast<int (*)(void**)>(dlsym(library, "cudaEventCreate"));
  const auto destroy_event = reinterpret_cast<int (*)(void*)>(dlsym(library, "cudaEventDestroy"));
  void *stream = nullptr, *event = nullptr;
  ASSERT_EQ(create(&stream, 1), 0);
  ASSERT_EQ(create_event(&event), 0);
  {
    std::vector<float> input(kInputs), output(kOutputs);
    const Pinned in("gpu0:0", input.data(), input.size() * sizeof(float));
    const Pinned out("gpu0:0", output.data(), output.size() * sizeof(float));
    EXPECT_EQ(StatusOf([&] { Pinned("gpu0:0", input.data(), 4); }), ASHLAR_INVALID_ARGUMENT);
    EXPECT_EQ(ashlar_unpin("gpu0:0", input.data() + 1), ASHLAR_INVALID_ARGUMENT);
    Session device = plan.NewSession(nullptr, 0, stream);
    device.Input(input.data(), input.size()).Output(output.data(), output.size());
    for (int seed = 0; seed < 4; ++seed) {
      const std::vector<float> expected = RunOnce(host, InputOf(seed));
      device.WaitForEvent(event);
      device.Start();
      const std::vector<float> late = InputOf(seed);
      std::copy(late.begin(), late.end(), input.begin());  // the device reads it later
      device.RecordEvent(event);
      device.Wait();
      if (seed == 0) continue;  // step by step: done at the start
      for (int i = 0; i < kOutputs; ++i) EXPECT_NEAR(output[i], expected[i], 1e-5) << i;
    }
  }
  EXPECT_EQ(destroy_event(event), 0);
  EXPECT_EQ(destroy(stream), 0);
  EXPECT_TRUE(OpenedControl()->misuses().empty()) << OpenedControl()->misuses()[0];
}

// Statuses are made in one library and read in the other.
TEST_F(DeviceLibraryTest, ErrorsOfTheDeviceAreTheLibrarys) {
  const Plan plan = Model(path_).NewPlan(On("gpu0:0"));
  emulated::Control* const gpu = OpenedControl();
  ASSERT_NE(gpu, nullptr);
  gpu->machine().others = gpu->machine().memory;
  EXPECT_EQ(StatusOf([&] { plan.NewSession(); }), ASHLAR_UNAVAILABLE);
  EXPECT_THAT(ashlar_error_message(), ::testing::HasSubstr("others hold the rest"));
  gpu->machine() = {};
  EXPECT_EQ(StatusOf([&] { Model(path_).NewPlan(On("gpu7:0")); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_THAT(ashlar_error_message(), ::testing::HasSubstr("there is 1 device"));
}

}  // namespace
}  // namespace ashlar::testing

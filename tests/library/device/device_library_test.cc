// Programs that link only the library. It exports nothing but the C interface, so a device's
// library beside it must contain every Ashlar function that it needs.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdio>
#include <utility>

#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/emulated_gpu/control.h"
#include "tests/library/c/library_test.h"
#include "tests/support/graph_maker.h"

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

// States that are exchanged, and one that is computed from another.
TEST_F(DeviceLibraryTest, StatesPassFromRunToRunOnTheDevice) {
  const std::string path = path_ + ".states.ash";
  GraphMaker maker;
  const int x = maker.Input("x", {4}), a = maker.Input("a", {4}), b = maker.Input("b", {4});
  const int c = maker.Input("c", {4});
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kSub}, {a, c}, "y"));
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kAdd}, {a, x}, "sum"));
  maker.Output(a);
  maker.Output(b);
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), path)));
  const Plan plan = Model(path).WithStates("a=b b=a sum=c").NewPlan(On("gpu0:0"));
  std::remove(path.c_str());
  Session session = plan.NewSession();
  const float ones[4] = {1, 1, 1, 1};
  float y[4], states[3][4] = {{1, 2, 3, 4}, {50, 60, 70, 80}, {9, 9, 9, 9}};
  const char* const names[3] = {"a", "b", "c"};
  session.Input(ones, 4).Output(y, 4);
  for (int i = 0; i < 3; ++i) session.WriteState(names[i], states[i], 4);
  for (int run = 0; run < 6; ++run) {
    session.Run();
    EXPECT_EQ(y[3], states[0][3] - states[2][3]) << run;
    for (int k = 0; k < 4; ++k) {
      states[2][k] = states[0][k] + 1;
      std::swap(states[0][k], states[1][k]);
    }
    for (int i = 0; i < 3; ++i) {
      float now[4];
      session.ReadState(names[i], now, 4);
      EXPECT_EQ(std::vector<float>(now, now + 4), std::vector<float>(states[i], states[i] + 4))
          << names[i] << " after run " << run;
    }
  }
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

// The caller's tensors on the device, at addresses that change from run to run.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "graph/status.h"
#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

class Rebinding : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Image& image : images_) {
      image.tensor = RandomTensor(
          random_, inference_.graph().var(inference_.graph().inputs()[0].var).type.shape);
      image.expected = Value(EvaluateGraph(inference_.graph(), {{"data", image.tensor}}))[0];
      image.memory = Value(device_.Allocate(image.tensor.bytes()));
      ASSERT_TRUE(
          IsOk(device_.CopyIn(image.memory->data(), image.tensor.raw(), image.tensor.bytes())));
    }
    output_ = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
    ASSERT_TRUE(IsOk(session_->BindOutput("prob", output_.mutable_raw(), output_.bytes())));
  }
  void RunOn(int image) {
    const Image& one = images_[static_cast<size_t>(image)];
    ASSERT_TRUE(IsOk(session_->BindDeviceInput("data", one.memory->data(), one.tensor.bytes())));
    ASSERT_TRUE(IsOk(session_->Run()));
    EXPECT_LE(LargestDifference(output_, one.expected), 1e-4);
  }
  static int64_t Calls(const std::string& function) {
    const auto calls = EmulatedGpu().calls();
    const auto it = calls.find(function);
    return it == calls.end() ? 0 : it->second;
  }

  struct Image {
    HostTensor tensor, expected;
    std::unique_ptr<DeviceMemory> memory;
  };
  std::mt19937_64 random_{19};
  Inference inference_;
  Device& device_ = OpenEmulated();
  std::array<Image, 3> images_;
  HostTensor output_;
  std::unique_ptr<Session> session_ = Value(Session::Create(Value(inference_.Compile())));
};

TEST_F(Rebinding, TheRecordingIsChangedAndNotMadeAnew) {
  RunOn(0);
  const int64_t made = Calls("cudaGraphInstantiate"), launched = Calls("cudaGraphLaunch");
  const int64_t executed = Calls("cudnnBackendExecute");
  RunOn(0);
  EXPECT_EQ(Calls("cudnnBackendExecute"), executed) << "a replay hands nothing over again";
  RunOn(1);
  const int64_t captured = Calls("cudnnBackendExecute") - executed;
  EXPECT_GT(captured, 0);
  for (const int image : {2, 0, 1, 1, 2}) RunOn(image);
  EXPECT_EQ(Calls("cudaGraphInstantiate"), made);
  EXPECT_EQ(Calls("cudaGraphLaunch") - launched, 7);
  // Five changes of address: each was captured once, and no run went step by step.
  EXPECT_EQ(Calls("cudnnBackendExecute") - executed, 5 * captured);
}

TEST_F(Rebinding, WhereItCannotBeChangedItIsMadeAnew) {
  RunOn(0);
  const int64_t made = Calls("cudaGraphInstantiate");
  EmulatedGpu().Fail("cudaGraphExecUpdate", 1);
  RunOn(1);
  EXPECT_TRUE(EmulatedGpu().failed());
  EXPECT_EQ(Calls("cudaGraphInstantiate"), made + 1);
  RunOn(2);
  EXPECT_EQ(Calls("cudaGraphInstantiate"), made + 1);
}

}  // namespace
}  // namespace ashlar::testing

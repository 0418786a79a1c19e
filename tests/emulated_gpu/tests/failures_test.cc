// Failing calls of the CUDA libraries: the error names the call, nothing leaks, and a retry works.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// Returns whether the function only describes or clears an error.
bool OnlyReports(const std::string& function) {
  return function == "cudaGetLastError" || function == "cudaGetErrorName" ||
         function == "cudaGetErrorString" || function[0] == '(';
}

// Returns the functions that a complete run calls, and how often.
std::map<std::string, int64_t> CallsOf(Inference& inference, const PlanRequest& request) {
  const std::map<std::string, int64_t> before = EmulatedGpu().calls();
  EXPECT_TRUE(IsOk(inference.RunAnew(request)));
  std::map<std::string, int64_t> calls = EmulatedGpu().calls();
  for (const auto& [function, count] : before) {
    if ((calls[function] -= count) == 0 || OnlyReports(function)) calls.erase(function);
  }
  return calls;
}

// Returns live objects, except the engines that devices keep prepared.
std::map<std::string, int64_t> Live() {
  std::map<std::string, int64_t> live = EmulatedGpu().live();
  live.erase("cuDNN descriptors");
  return live;
}

TEST(EmulatedFailures, EachCallMayFailOnceAndAllCanBeTriedAgain) {
  const PlanRequest request = OnEmulatedGpu(DType::kFloat16);
  constexpr double kTolerance = 2e-2;
  emulated::Control& gpu = EmulatedGpu();
  Inference first(1);
  ASSERT_TRUE(IsOk(first.RunAnew(request)));
  const std::map<std::string, int64_t> live = Live();
  int64_t batch = 1;  // another batch if engines are chosen: they are remembered
  Inference inference(++batch);
  int reported = 0;
  for (const auto& [function, count] : CallsOf(inference, request)) {
    for (const int64_t call : std::set<int64_t>{1, count}) {
      SCOPED_TRACE(absl::StrCat(function, ", call ", call, " of ", count));
      if (absl::StartsWith(function, "cudnnBackend")) inference = Inference(++batch);
      gpu.Fail(function, call);
      const absl::Status status = inference.RunAnew(request);
      EXPECT_TRUE(gpu.failed());
      if (status.ok()) {  // another engine was chosen, or the call was at the end
        EXPECT_LE(inference.Error(), kTolerance);
      } else {
        ++reported;
        EXPECT_TRUE(absl::StrContains(status.message(), function) ||
                    (status.code() == absl::StatusCode::kUnavailable &&
                     absl::StrContains(status.message(), "try again")))
            << status;
        if (function == "cudnnBackendExecute" || function == "cublasLtMatmul") {
          const char* const kind = function == "cublasLtMatmul" ? "MatrixMul" : "ConvBiasForward";
          EXPECT_TRUE(absl::StrContains(status.message(), kind)) << status;
        }
      }
      EXPECT_EQ(Live(), live);
      ASSERT_TRUE(IsOk(inference.RunAnew(request)));
      EXPECT_LE(inference.Error(), kTolerance);
    }
  }
  EXPECT_GE(reported, 15);
}

TEST(EmulatedFailures, ASessionGoesOnAfterAFailedRun) {
  Inference inference;
  const std::shared_ptr<const Executable> executable = Value(inference.Compile());
  emulated::Control& gpu = EmulatedGpu();
  struct Case {
    const char* function;
    bool records;  // if not recorded, the run goes on step by step
  };
  for (const Case& test : {Case{"cudaMemcpyAsync", false}, Case{"cudnnBackendExecute", false},
                           Case{"cublasLtMatmul", false}, Case{"cudaStreamSynchronize", false},
                           Case{"cudaGraphLaunch", false}, Case{"cudaStreamBeginCapture", true},
                           Case{"cudaStreamEndCapture", true}, Case{"cudaGraphInstantiate", true},
                           Case{"cudaGraphUpload", true}}) {
    SCOPED_TRACE(test.function);
    const std::unique_ptr<Session> session = Value(Session::Create(executable));
    gpu.Fail(test.function, 1);
    const absl::Status status = inference.Run(*session, 2);
    EXPECT_TRUE(gpu.failed());
    EXPECT_EQ(status.ok(), test.records) << status;
    EXPECT_TRUE(IsOk(inference.Run(*session, 3)));
    EXPECT_LE(inference.Error(), 1e-4);
  }
}

// A failure of enqueued work is unknown until it is waited for. Then all calls fail, and every
// error names the original one, whichever call found it.
TEST(EmulatedFailures, AfterWorkThatDiedEveryErrorSaysThatTheProcessIsLost) {
  constexpr char kLost[] = "start it anew";
  Inference inference;
  const std::shared_ptr<const Executable> executable = Value(inference.Compile());
  const std::map<std::string, int64_t> live = Live();
  {
    const std::unique_ptr<Session> session = Value(Session::Create(executable));
    const std::unique_ptr<Session> other = Value(Session::Create(executable));
    ASSERT_TRUE(IsOk(inference.Run(*session)));
    EmulatedGpu().machine().dies_of = 700;  // an illegal address
    const absl::Status died = inference.Run(*session);
    EXPECT_TRUE(FailsWith(died, "cudaStreamSynchronize"));
    EXPECT_TRUE(FailsWith(died, "cudaErrorIllegalAddress"));
    EXPECT_TRUE(FailsWith(died, kLost));
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(FailsWith(inference.Run(*session), kLost));
      EXPECT_TRUE(FailsWith(inference.Run(*other), kLost));
      EXPECT_TRUE(FailsWith(Session::Create(executable).status(), kLost));
    }
  }
  EXPECT_EQ(Live(), live);
}

// A library may be the first to find it, and reports only that it failed.
TEST(EmulatedFailures, WhatALibraryMeetsTheRuntimeIsAskedFor) {
  Inference inference;
  const std::shared_ptr<const Executable> executable = Value(inference.Compile());
  const std::unique_ptr<Session> session = Value(Session::Create(executable, {.record = false}));
  ASSERT_TRUE(IsOk(inference.Run(*session)));
  emulated::Control& gpu = EmulatedGpu();
  for (const char* function : {"cudnnBackendExecute", "cublasLtMatmul"}) {
    SCOPED_TRACE(function);
    gpu.Fail(function, 1);
    const absl::Status alone = inference.Run(*session);  // a retry is allowed
    EXPECT_TRUE(FailsWith(alone, function));
    EXPECT_FALSE(absl::StrContains(alone.message(), "start it anew")) << alone;
    gpu.DieAt(function, 700);
    const absl::Status died = inference.Run(*session);
    EXPECT_TRUE(FailsWith(died, function));
    EXPECT_TRUE(FailsWith(died, "cudaErrorIllegalAddress"));
    EXPECT_TRUE(FailsWith(died, "start it anew"));
    gpu.machine() = {};
    EXPECT_TRUE(IsOk(inference.Run(*session)));
  }
}

TEST(EmulatedFailures, MemoryThatOthersHoldCanBeTriedForAgain) {
  Inference inference;
  emulated::Control& gpu = EmulatedGpu();
  const std::shared_ptr<const Executable> executable = Value(inference.Compile());
  const std::map<std::string, int64_t> live = Live();
  gpu.machine().others = gpu.machine().memory - 4096;
  const absl::Status status = Session::Create(executable).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(FailsWith(status, "others hold the rest; try again"));
  EXPECT_EQ(Live(), live);
  gpu.machine().others = 0;
  const std::unique_ptr<Session> session = Value(Session::Create(executable));
  EXPECT_TRUE(IsOk(inference.Run(*session)));
  EXPECT_LE(inference.Error(), 1e-4);
}

TEST(EmulatedFailures, MemoryForStreamsThatOthersHoldCanBeTriedForAgain) {
  Inference inference;
  emulated::Control& gpu = EmulatedGpu();
  const std::shared_ptr<const Executable> executable = Value(inference.Compile());
  Device& device = OpenEmulated();
  const int64_t before = device.memory()->free;
  int64_t held = 0;
  {
    const std::unique_ptr<Session> session = Value(Session::Create(executable));
    held = before - device.memory()->free;
  }
  const auto expect_refused = [](const absl::Status& status, const char* call) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_TRUE(FailsWith(status, call));
    EXPECT_TRUE(FailsWith(status, "try again"));
  };
  gpu.machine().others = before - held;  // the arena and the tensors fit, a stream does not
  expect_refused(Session::Create(executable).status(), "cudaStreamCreateWithFlags");
  gpu.machine().others = 0;
  const std::unique_ptr<Session> session = Value(Session::Create(executable));
  gpu.machine().others = device.memory()->free;  // no memory is left for a handle of cuDNN
  expect_refused(inference.Run(*session), "cudnnCreate");
  gpu.machine().others = 0;
  EXPECT_TRUE(IsOk(inference.Run(*session)));
}

TEST(EmulatedFailures, WhatTheDeviceHasNotIsFoundAtPlanning) {
  Inference inference;
  EmulatedGpu().machine().memory = 64 << 10;
  const absl::Status status = inference.Compile().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(FailsWith(status, "gpu0:0 has 65536 bytes"));
}

}  // namespace
}  // namespace ashlar::testing

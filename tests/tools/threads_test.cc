// Whole networks on several threads, and several of them at once.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/session.h"
#include "tests/support/command/small_model.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kBatch = 3;

std::shared_ptr<const Executable> CompileFor(int threads) {
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.threads = threads;
  return Value(Executable::Compile(SmallModel(kBatch), request));
}

HostTensor Input() {
  std::mt19937_64 random(5);
  return RandomTensor(random, {kBatch, 3, 16, 16});
}

// Runs `times` times in a session of its own; returns the results of all runs, one after another.
std::vector<float> RunModel(const std::shared_ptr<const Executable>& executable, int times) {
  const HostTensor input = Input();
  std::unique_ptr<Session> session = Value(Session::Create(executable));
  std::vector<float> results(times * kBatch * 10);
  EXPECT_TRUE(IsOk(session->BindInput("data", input.raw(), input.bytes())));
  for (int i = 0; i < times; ++i) {
    EXPECT_TRUE(
        IsOk(session->BindOutput("prob", &results[i * kBatch * 10], kBatch * 10 * sizeof(float))));
    EXPECT_TRUE(IsOk(session->Run()));
  }
  return results;
}

TEST(ThreadsTest, ResultsAreTheSameBitsWhateverTheirNumber) {
  const std::vector<float> expected = RunModel(CompileFor(1), 1);
  for (const int threads : {2, 3, 8})
    EXPECT_EQ(RunModel(CompileFor(threads), 1), expected) << threads;
}

TEST(ThreadsTest, SessionsSideBySideDoNotDisturbEachOther) {
  constexpr int kRuns = 20;
  const auto executable = CompileFor(2);
  std::vector<float> expected;
  const std::vector<float> once = RunModel(executable, 1);
  for (int i = 0; i < kRuns; ++i) expected.insert(expected.end(), once.begin(), once.end());
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> users;
  for (std::vector<float>& result : results) {
    users.emplace_back([&] { result = RunModel(executable, kRuns); });
  }
  for (std::thread& user : users) user.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace ashlar::testing

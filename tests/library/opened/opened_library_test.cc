// Programs that link no Ashlar library: they open it, call it by name, and close it.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "library/include/ashlar/ashlar.h"
#include "serialization/native/writer.h"
#include "tests/support/command/small_model.h"

namespace ashlar::testing {
namespace {

constexpr int kInputs = 3 * 16 * 16, kOutputs = 10;  // of SmallModel(1), floats

// The handle of one dlopen.
class OpenedLibrary {
 public:
  OpenedLibrary() : handle_(dlopen(ASHLAR_LIBRARY, RTLD_NOW)) {}
  ~OpenedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  OpenedLibrary(const OpenedLibrary&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};
#define ASHLAR_FIND(library, function) (library).Find<decltype(function)>(#function)

// Returns the outputs of one run on two threads; nothing if a call failed.
std::vector<float> RunOnTwoThreads(const OpenedLibrary& library, const std::string& path) {
  ashlar_model* model = nullptr;
  ashlar_plan* plan = nullptr;
  ashlar_session* session = nullptr;
  ashlar_plan_options options = {};
  options.size = sizeof(options);
  options.threads = 2;
  std::vector<float> input(kInputs, 0.5f), output(kOutputs);
  const auto bind_input = ASHLAR_FIND(library, ashlar_bind_input);
  const auto bind_output = ASHLAR_FIND(library, ashlar_bind_output);
  const bool ok = ASHLAR_FIND(library, ashlar_model_open)(path.c_str(), &model) == ASHLAR_OK &&
                  ASHLAR_FIND(library, ashlar_model_plan)(model, &options, &plan) == ASHLAR_OK &&
                  ASHLAR_FIND(library, ashlar_plan_session)(plan, nullptr, &session) == ASHLAR_OK &&
                  bind_input(session, nullptr, input.data(), input.size() * sizeof(float),
                             ASHLAR_HOST) == ASHLAR_OK &&
                  bind_output(session, nullptr, output.data(), output.size() * sizeof(float),
                              ASHLAR_HOST) == ASHLAR_OK &&
                  ASHLAR_FIND(library, ashlar_run)(session) == ASHLAR_OK;
  ASHLAR_FIND(library, ashlar_session_release)(session);
  ASHLAR_FIND(library, ashlar_plan_release)(plan);
  ASHLAR_FIND(library, ashlar_model_release)(model);
  return ok ? output : std::vector<float>();
}

int ThreadsOfProcess() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  int threads = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "Threads: %d", &threads) == 1) break;
  }
  std::fclose(file);
  return threads;
}

class OpenedLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "/opened_" + test->name() + ".ash";
    const absl::Status written = WriteModel(SmallModel(1), path_);
    ASSERT_TRUE(written.ok()) << written;
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;  // of the model
};

// The first call, whichever it is, registers the devices.
TEST_F(OpenedLibraryTest, EightThreadsMayCallItFirst) {
  const OpenedLibrary library;
  ASSERT_TRUE(library) << dlerror();
  constexpr int kThreads = 8;
  std::atomic<int> ready = 0;
  std::vector<std::vector<float>> outputs(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      outputs[t] = RunOnTwoThreads(library, path_);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(outputs[0].size(), static_cast<size_t>(kOutputs));
  for (const std::vector<float>& output : outputs) EXPECT_EQ(output, outputs[0]);
}

// Regression: SIGSEGV, because the code under the workers was unloaded.
TEST_F(OpenedLibraryTest, ItsWorkersOutliveItsClosing) {
  std::vector<float> before;
  {
    const OpenedLibrary library;
    ASSERT_TRUE(library) << dlerror();
    before = RunOnTwoThreads(library, path_);
    ASSERT_EQ(before.size(), static_cast<size_t>(kOutputs));
    ASSERT_GT(ThreadsOfProcess(), 1);
  }
  usleep(50000);  // spinning workers go to sleep meanwhile
  EXPECT_GT(ThreadsOfProcess(), 1);
  const OpenedLibrary again;
  ASSERT_TRUE(again) << dlerror();
  EXPECT_EQ(RunOnTwoThreads(again, path_), before);
}

}  // namespace
}  // namespace ashlar::testing

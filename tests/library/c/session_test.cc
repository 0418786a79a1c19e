// Sessions: arenas of the caller, bindings, verification, and concurrent use.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "tests/library/c/library_test.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using SessionLibraryTest = LibraryTest;

struct Free {
  void operator()(void* block) const { std::free(block); }
};
using Block = std::unique_ptr<char, Free>;

Block AlignedBlock(int64_t bytes) {
  return Block(
      static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 63) / 64 * 64)));
}

TEST_F(SessionLibraryTest, TwoShareTheCallersArenaAndLeaveWhatIsBehindIt) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  const int64_t arena = plan.Memory().arena;
  constexpr int kBehind = 256;
  const Block block = AlignedBlock(arena + kBehind);
  std::memset(block.get() + arena, 0x5a, kBehind);
  Session first = plan.NewSession(block.get(), static_cast<size_t>(arena));
  Session second = plan.NewSession(block.get(), static_cast<size_t>(arena));
  Session own = plan.NewSession();
  for (int seed = 0; seed < 3; ++seed) {
    const std::vector<float> expected = RunOnce(own, InputOf(seed));
    EXPECT_EQ(RunOnce(first, InputOf(seed)), expected);
    EXPECT_EQ(RunOnce(second, InputOf(seed)), expected);
  }
  for (int i = 0; i < kBehind; ++i) ASSERT_EQ(block.get()[arena + i], 0x5a) << "byte " << i;
}

TEST_F(SessionLibraryTest, ArenasThatWillNotDoAreRefused) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  const int64_t arena = plan.Memory().arena;
  const Block block = AlignedBlock(arena + 64);
  const auto bytes = static_cast<size_t>(arena);
  EXPECT_EQ(StatusOf([&] { plan.NewSession(block.get(), bytes - 1); }), ASHLAR_DOES_NOT_FIT);
  EXPECT_EQ(ashlar_error_bytes(), arena);
  EXPECT_EQ(StatusOf([&] { plan.NewSession(block.get() + 4, bytes); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { plan.NewSession(nullptr, bytes); }), ASHLAR_INVALID_ARGUMENT);
}

// Regression: the arena of a plan with `align` needed only the device's alignment.
TEST_F(SessionLibraryTest, ArenasAreAsAlignedAsTheirBuffers) {
  constexpr int64_t kAlignment = 1 << 16;
  auto options = Threads(1);
  options.more = "align=65536 passes=none";
  options.release_input = 1;
  const Plan plan = Model(path_).NewPlan(options);
  ASSERT_EQ(plan.Memory().arena_alignment, kAlignment);
  Session session = plan.NewSession();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(session.ReleasedInput<float>()) % kAlignment, 0u);
  const auto arena = static_cast<size_t>(plan.Memory().arena);
  const Block block = AlignedBlock(plan.Memory().arena + 2 * kAlignment);
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(block.get()) % kAlignment);
  char* const begin = block.get() + (kAlignment - past);
  plan.NewSession(begin, arena);
  EXPECT_EQ(StatusOf([&] { plan.NewSession(begin + 64, arena); }), ASHLAR_INVALID_ARGUMENT);
  const std::string message = ashlar_error_message();
  EXPECT_NE(message.find("not at a multiple of 65536 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("its address is a multiple of 64"), std::string::npos) << message;
}

TEST_F(SessionLibraryTest, BindingsAreChecked) {
  Session session = Model(path_).NewPlan(Threads(1)).NewSession();
  EXPECT_EQ(StatusOf([&] { session.Run(); }), ASHLAR_NOT_BOUND);
  const std::vector<float> input = InputOf(0);
  EXPECT_EQ(StatusOf([&] { session.Input(input.data(), input.size(), "none"); }),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("data"), std::string::npos);
  EXPECT_EQ(StatusOf([&] { session.Input(input.data(), input.size() - 1); }),
            ASHLAR_INVALID_ARGUMENT);
  session.Input(input.data(), input.size(), "data");
  EXPECT_EQ(StatusOf([&] { session.Run(); }), ASHLAR_NOT_BOUND);
}

TEST_F(SessionLibraryTest, VerificationMeasuresWhatWasPlanned) {
  for (const int64_t budget : {int64_t{0}, int64_t{ASHLAR_LEAST}}) {
    auto options = Threads(1);
    options.memory_budget = budget;
    const Plan plan = Model(path_).NewPlan(options);
    const ashlar_measured measured = plan.Verify();
    const ashlar_memory memory = plan.Memory();
    EXPECT_TRUE(measured.ok);
    EXPECT_LE(measured.arena, memory.arena);
    EXPECT_GT(measured.arena, 0);
    EXPECT_LE(measured.weights, memory.weights);
    EXPECT_GT(measured.weights, 0);
    EXPECT_EQ(measured.output, memory.output);
    EXPECT_EQ(measured.heap_calls, dlsym(RTLD_DEFAULT, "ashlar_heap_calls") != nullptr
                                       ? 0
                                       : -1);  // nothing counts them here
    EXPECT_EQ(plan.Verify().weights, -1);      // packed before
  }
}

TEST_F(SessionLibraryTest, AnInputThatIsGivenUpIsWrittenInTheArenaBeforeEachRun) {
  const std::vector<float> input = InputOf(3);
  Session kept = Model(path_).NewPlan(Threads(1)).NewSession();
  const std::vector<float> expected = RunOnce(kept, input);
  EXPECT_EQ(StatusOf([&] { kept.ReleasedInput<float>(); }), ASHLAR_INVALID_ARGUMENT);
  auto options = Threads(1);
  options.memory_budget = ASHLAR_LEAST;
  const ashlar_memory before = Model(path_).NewPlan(options).Memory();
  options.release_input = 1;
  const Plan plan = Model(path_).NewPlan(options);
  const ashlar_memory memory = plan.Memory();
  EXPECT_EQ(memory.input, 0);
  EXPECT_EQ(memory.released_input, static_cast<int64_t>(input.size() * sizeof(float)));
  EXPECT_GE(memory.arena, memory.released_input);
  EXPECT_LT(memory.arena, before.arena + memory.released_input);
  EXPECT_TRUE(plan.Verify().ok);

  Session session = plan.NewSession();
  EXPECT_EQ(RunOnce(session, input), expected);  // copied there
  std::vector<float> output(expected.size());
  session.Output(output.data(), output.size());
  for (int run = 0; run < 2; ++run) {
    std::copy(input.begin(), input.end(), session.ReleasedInput<float>("data"));
    session.Run();
    EXPECT_EQ(output, expected);
  }
  EXPECT_EQ(StatusOf([&] { session.Run(); }), ASHLAR_NOT_BOUND);
}

TEST_F(SessionLibraryTest, EverythingIsReleasedInAnyOrder) {
  const std::vector<float> input = InputOf(4);
  std::optional<Model> model(path_);
  std::optional<Plan> plan(model->NewPlan(Threads(2)));
  Session session = plan->NewSession();
  const std::vector<float> before = RunOnce(session, input);
  model.reset();
  EXPECT_EQ(RunOnce(session, input), before);
  plan.reset();
  EXPECT_EQ(RunOnce(session, input), before);
}

TEST_F(SessionLibraryTest, SessionsRunAndPlansAreMadeOnEightThreads) {
  const Model model(path_);
  const Plan plan = model.NewPlan(Threads(2));
  Session alone = plan.NewSession();
  std::vector<std::vector<float>> expected;
  for (int seed = 0; seed < 8; ++seed) expected.push_back(RunOnce(alone, InputOf(seed)));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 4; ++round) {
        const Plan own = model.NewPlan(Threads(2));
        Session of_own = own.NewSession(), of_shared = plan.NewSession();
        for (int run = 0; run < 8; ++run) {
          const int seed = (t + run) % 8;
          wrong += RunOnce(of_shared, InputOf(seed)) != expected[seed];
          wrong += RunOnce(of_own, InputOf(seed)) != expected[seed];
        }
        // Each thread has an error of its own.
        const std::string name = "thread " + std::to_string(t);
        wrong += ashlar_bind_input(of_own.get(), name.c_str(), &t, 4, ASHLAR_HOST) == ASHLAR_OK;
        wrong += std::string(ashlar_error_message()).find(name) == std::string::npos;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionLibraryTest, TenThousandLeaveNothingBehind) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  const Block block = AlignedBlock(plan.Memory().arena);
  const std::vector<float> input = InputOf(0);
  const auto make = [&](int count) {
    for (int i = 0; i < count; ++i) {
      Session session = plan.NewSession(block.get(), static_cast<size_t>(plan.Memory().arena));
      RunOnce(session, input);
    }
  };
  make(10);
  const size_t before = mallinfo2().uordblks;
  make(kSanitized ? 200 : 10000);
  EXPECT_EQ(mallinfo2().uordblks, before);
}

// Calls `run` on `threads` threads, several times each and until a call was refused. Every call is
// right or fails with ASHLAR_BUSY. Returns how many were refused.
template <typename Run>  // (thread) -> whether the numbers are right
int RefusedOnThreads(int threads, const Run& run) {
  constexpr int kCalls = 200;
  std::atomic<int> refused = 0, wrong = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      for (int call = 0; call < kCalls || (refused == 0 && std::chrono::steady_clock::now() < end);
           ++call) {
        const ashlar_status status = StatusOf([&] { wrong += run(t) ? 0 : 1; });
        if (status == ASHLAR_BUSY) ++refused;
        if (status != ASHLAR_BUSY && status != ASHLAR_OK) ++wrong;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  return refused;
}

TEST_F(SessionLibraryTest, OneSessionOnFourThreadsIsRightOrRefused) {
  Session session = Model(path_).NewPlan(Threads(1)).NewSession();
  const std::vector<float> input = InputOf(5);
  const std::vector<float> expected = RunOnce(session, input);
  std::vector<float> output(expected.size());
  session.Input(input.data(), input.size()).Output(output.data(), output.size());
  EXPECT_GT(RefusedOnThreads(4,
                             [&](int) {
                               session.Run();
                               return true;
                             }),
            0);
  EXPECT_EQ(output, expected);
  session.Run();  // after the others have ended
  EXPECT_EQ(output, expected);
}

TEST_F(SessionLibraryTest, SessionsOfOverlappingArenasAreRightOrRefused) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  const auto arena = static_cast<size_t>(plan.Memory().arena);
  const Block block = AlignedBlock(plan.Memory().arena + 64);
  std::vector<Session> sessions;
  for (const size_t offset : {0, 0, 64}) {
    sessions.push_back(plan.NewSession(block.get() + offset, arena));
  }
  std::vector<std::vector<float>> inputs, expected, outputs(3, std::vector<float>(kOutputs));
  for (int t = 0; t < 3; ++t) {
    inputs.push_back(InputOf(t));
    expected.push_back(RunOnce(sessions[t], inputs[t]));
    sessions[t].Input(inputs[t].data(), inputs[t].size());
    sessions[t].Output(outputs[t].data(), outputs[t].size());
  }
  EXPECT_GT(RefusedOnThreads(3,
                             [&](int t) {
                               sessions[t].Run();
                               return outputs[t] == expected[t];
                             }),
            0);
  // A destroyed session no longer makes others busy.
  sessions.pop_back();
  EXPECT_EQ(RunOnce(sessions[0], inputs[2]), expected[2]);
}

TEST_F(SessionLibraryTest, AForkedChildGoesOn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not follow threads into a child";
  const Plan plan = Model(path_).NewPlan(Threads(2));
  Session session = plan.NewSession();
  const std::vector<float> expected = RunOnce(session, InputOf(3));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool right = RunOnce(session, InputOf(3)) == expected;
    Session fresh = plan.NewSession();
    right &= RunOnce(fresh, InputOf(3)) == expected;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Returns the bytes of private writable memory, as RLIMIT_DATA counts them.
int64_t DataBytes() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  long long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmData: %lld kB", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return kilobytes * 1024;
}

// Makes a session in a child process that may use so many more bytes; returns its status.
int SessionWithin(const Plan& plan, int64_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char> input(static_cast<size_t>(plan.Memory().input));
    std::vector<char> output(static_cast<size_t>(plan.Memory().output));
    const rlimit limit = {static_cast<rlim_t>(DataBytes() + bytes), RLIM_INFINITY};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(100);
    ashlar_session* session = nullptr;
    int status = ashlar_plan_session(plan.get(), nullptr, &session);
    if (status == ASHLAR_OK) {
      ashlar_bind_input(session, nullptr, input.data(), input.size(), ASHLAR_HOST);
      ashlar_bind_output(session, nullptr, output.data(), output.size(), ASHLAR_HOST);
      status = ashlar_run(session);
    } else if (ashlar_error_bytes() != plan.Memory().arena) {
      status = 101;
    }
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SessionLibraryTest, TakesTheArenaAndNoPageMore) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  auto options = Threads(1);
  const ashlar_shape shape = {"data", 4, {64, 3, 16, 16}};  // too large for the heap
  options.shapes = &shape;
  options.num_shapes = 1;
  options.prefer_memory = 1;
  const Plan large = Model(path_).NewPlan(options);
  large.Load();
  { Session warm = large.NewSession(); }
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t pages = (large.Memory().arena + page - 1) / page * page;
  EXPECT_EQ(SessionWithin(large, pages - page), ASHLAR_DOES_NOT_FIT);
  EXPECT_EQ(SessionWithin(large, pages), ASHLAR_OK);
}

TEST_F(SessionLibraryTest, NotesGoToTheCallersLog) {
  static std::string lines;
  lines.clear();
  ashlar_set_log([](void*, const char* line) { lines += line; }, nullptr);
  auto options = Threads(1);
  const std::string none = path_ + ".json";
  std::FILE* const file = std::fopen(none.c_str(), "w");
  std::fputs("no record", file);
  std::fclose(file);
  options.kernel_record = none.c_str();
  Model(path_).NewPlan(options);
  ashlar_set_log(nullptr, nullptr);
  std::remove(none.c_str());
  EXPECT_NE(lines.find("kernels by the table"), std::string::npos) << lines;
}

// On the host nothing is copied, and there are no streams.
TEST_F(SessionLibraryTest, OnTheHostThereIsNothingToPinAndNoStream) {
  std::vector<float> input = InputOf(0);
  const Plan plan = Model(path_).NewPlan(Threads(1));
  {
    const Pinned pinned("cpu0:0", input.data(), input.size() * sizeof(float));
    Session session = plan.NewSession();
    EXPECT_EQ(RunOnce(session, input).size(), static_cast<size_t>(kOutputs));
    int event = 0;
    EXPECT_EQ(ashlar_wait_event(session.get(), &event), ASHLAR_UNSUPPORTED);
    EXPECT_EQ(ashlar_record_event(session.get(), &event), ASHLAR_UNSUPPORTED);
    EXPECT_STREQ(ashlar_error_message(), "device cpu0:0 has no streams and no events");
    EXPECT_EQ(ashlar_record_event(session.get(), nullptr), ASHLAR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(StatusOf([&] { plan.NewSession(nullptr, 0, &input); }), ASHLAR_UNSUPPORTED);
  EXPECT_EQ(ashlar_pin("cpu0:0", nullptr, 8), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_pin(nullptr, input.data(), 8), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_pin("abacus", input.data(), 8), ASHLAR_INVALID_ARGUMENT);
}

// A program compiled when the struct ended with the arena.
TEST_F(SessionLibraryTest, OptionsOfBeforeHaveNoStream) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  auto options = Sized<ashlar_session_options>();
  options.size = offsetof(ashlar_session_options, stream);
  options.stream = &options;
  ashlar_session* session = nullptr;
  EXPECT_EQ(ashlar_plan_session(plan.get(), &options, &session), ASHLAR_OK);
  ashlar_session_release(session);
}

}  // namespace
}  // namespace ashlar::testing

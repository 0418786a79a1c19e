// Weights that are streamed through a window: the same bits as weights in memory, and errors of
// reads that end a run, and no more than that.
#include "runtime/session/streamed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "graph/needed_bytes.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

// A pool in memory that reads like a file, slowly or with an error if asked to.
class PoolInMemory final : public WeightSource {
 public:
  explicit PoolInMemory(const PackedModel& packed) : packed_(packed) {}
  const std::string& name() const override { return name_; }
  Stamp opened() const override { return {}; }
  absl::StatusOr<Stamp> CurrentStamp() const override { return Stamp{0, 0, 0, written_.load(), 0}; }
  absl::Status Verify() const override {
    ++verified;
    return intact ? absl::OkStatus() : absl::FailedPreconditionError("pool: other bytes");
  }
  absl::Status Read(int64_t offset, int64_t bytes, void* to) const override {
    const int read = reads++;
    std::this_thread::sleep_for(delay);
    if (read == write_at) ++written_;
    if (offset == fail_at) return absl::DataLossError(absl::StrCat("pool: no byte ", offset));
    std::memcpy(to, static_cast<const char*>(packed_.pool) + offset, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  // If it is cached: nothing, parts or all.
  int64_t ReadCached(int64_t offset, int64_t bytes, void* to) const override {
    if (!cached) return 0;
    const int64_t at_once = bytes * (looks++ % 4) / 3;
    std::memcpy(to, static_cast<const char*>(packed_.pool) + offset, static_cast<size_t>(at_once));
    return at_once;
  }
  void Write() { ++written_; }

  mutable std::atomic<int> reads = 0, looks = 0, verified = 0;
  bool cached = false;
  std::atomic<int64_t> fail_at = -1;  // offset
  std::atomic<int> write_at = -1;     // number of reads
  std::chrono::microseconds delay{0};
  bool intact = true;

 private:
  const std::string name_ = "pool";
  const PackedModel packed_;
  mutable std::atomic<int64_t> written_ = 0;
};

// Convolutions of random kinds; some add a constant image, some share their filter with others.
Graph RandomNetwork(std::mt19937_64& random) {
  GraphMaker make;
  const int x = make.Input("x", {1, 16, 10, 10});
  int y = x;
  int64_t channels = 16;
  std::vector<std::pair<int, int64_t>> squares;  // filters with as many outputs as inputs
  const int layers = 2 + static_cast<int>(random() % 10);
  for (int i = 0; i < layers; ++i) {
    const int64_t outputs = random() % 2 == 0 ? channels : 16 * (1 + random() % 4);
    const int64_t window = random() % 2 == 0 ? 1 : 3;
    int filter = -1;
    for (const auto& [square, of] : squares) {
      if (of == channels && random() % 3 == 0) filter = square;
    }
    if (filter < 0) {
      filter =
          make.Constant(RandomTensor(random, Shape{outputs, channels, window, window}, -0.1, 0.1));
      if (outputs == channels) squares.emplace_back(filter, channels);
    }
    ConvolutionParam param;
    param.pad_h = param.pad_w = make.var(filter).type.shape[2] / 2;
    y = make.Add<ConvolutionForward>(param, {y, filter});
    channels = make.var(filter).type.shape[0];
    if (random() % 3 > 0) continue;
    const int image = make.Constant(RandomTensor(random, Shape{1, channels, 10, 10}, -1, 1));
    y = make.Add<Elemwise>({ScalarFunction::kAdd}, {y, image});
  }
  make.Output(make.Add<Elemwise>({ScalarFunction::kRelu}, {y}, "y"));
  return std::move(make).Build();
}

// A network packed in memory, and its outputs.
class Packed {
 public:
  Packed(const Graph& graph, int threads, int64_t panel_bytes = 0)
      : whole_(Value(Executable::Compile(graph, Request(threads, panel_bytes)))),
        model_(Executable::ToPacked(whole_)),
        pool(std::make_shared<PoolInMemory>(model_)) {
    model_.open_pool = [this] { return std::shared_ptr<const WeightSource>(pool); };
  }
  static PlanRequest Request(int threads, int64_t panel_bytes) {
    PlanRequest request;
    request.target.threads = threads;
    request.planning.panel_bytes = panel_bytes;
    return request;
  }
  absl::StatusOr<std::shared_ptr<const Executable>> Streamed(int64_t budget) const {
    const PlanRequest& packed = whole_->planned().request;
    PlanRequest request = Request(packed.target.threads, packed.planning.panel_bytes);
    request.target.weights_budget = budget;
    return Executable::FromPacked(model_, request);
  }
  int64_t least() const { return NeededBytes(Streamed(1).status()).value_or(0); }
  int64_t all() const { return whole_->planned().weights.bytes; }
  const std::shared_ptr<const Executable>& whole() const { return whole_; }

 private:
  std::shared_ptr<const Executable> whole_;
  PackedModel model_;

 public:
  const std::shared_ptr<PoolInMemory> pool;
};

// A session with its tensors.
class Running {
 public:
  explicit Running(const std::shared_ptr<const Executable>& executable)
      : session_(Value(Session::Create(executable))),
        y_(HostTensor::Zeros(
            DType::kFloat32,
            executable->graph().var(executable->graph().outputs()[0].var).type.shape)) {
    std::mt19937_64 random(3);
    x_ = RandomTensor(random, Shape{1, 16, 10, 10}, -1, 1);
    EXPECT_TRUE(IsOk(session_->BindInput("x", x_.raw(), x_.bytes())));
    EXPECT_TRUE(IsOk(session_->BindOutput("y", y_.mutable_raw(), y_.bytes())));
  }
  absl::Status Run() {
    std::memset(y_.mutable_raw(), 0xff, static_cast<size_t>(y_.bytes()));
    return session_->Run();
  }
  std::vector<double> Outputs() {
    EXPECT_TRUE(IsOk(Run()));
    return Values(y_);
  }

 private:
  std::unique_ptr<Session> session_;
  HostTensor x_, y_;
};

class StreamedWeightsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

TEST_F(StreamedWeightsTest, AllWindowsComputeTheSameBits) {
  std::mt19937_64 random(440);
  for (int trial = 0; trial < 24; ++trial) {
    SCOPED_TRACE(trial);
    const Packed packed(RandomNetwork(random), 1 + trial % 2);
    packed.pool->cached = trial % 3 > 0;
    const std::vector<double> wanted = Running(packed.whole()).Outputs();
    const int64_t least = packed.least(), all = packed.all();
    ASSERT_GT(least, 0);
    ASSERT_TRUE(FailsWith(packed.Streamed(least - 1).status(), "at least"));
    for (const double share : {0.0, 0.3, 0.7, 1.0}) {
      SCOPED_TRACE(share);
      const auto budget = least + static_cast<int64_t>(share * static_cast<double>(all - least));
      const auto streamed = Value(packed.Streamed(budget));
      EXPECT_LE(streamed->planned().weights.memory_bytes(), budget);
      Running running(streamed);
      for (int run = 0; run < 4; ++run) ASSERT_EQ(running.Outputs(), wanted) << "run " << run;
      EXPECT_EQ(streamed->weights_bytes(), streamed->planned().weights.memory_bytes());
    }
  }
}

TEST_F(StreamedWeightsTest, PanelsNeedSmallerWindows) {
  std::mt19937_64 random(441);
  int smaller = 0;
  for (int trial = 0; trial < 8; ++trial) {
    SCOPED_TRACE(trial);
    const Graph graph = RandomNetwork(random);
    const Packed whole(graph, 1 + trial % 2), panels(graph, 1 + trial % 2, 4 << 10);
    EXPECT_LE(panels.least(), whole.least());  // constant images stay whole
    smaller += panels.least() < whole.least() ? 1 : 0;
    const std::vector<double> wanted = Running(panels.whole()).Outputs();
    EXPECT_THAT(wanted, ::testing::Pointwise(::testing::DoubleNear(1e-5),
                                             Running(whole.whole()).Outputs()));
    for (const int64_t budget : {panels.least(), whole.least()}) {
      Running running(Value(panels.Streamed(budget)));
      for (int run = 0; run < 3; ++run) ASSERT_EQ(running.Outputs(), wanted) << "run " << run;
    }
  }
  EXPECT_GE(smaller, 4);
}

TEST_F(StreamedWeightsTest, SlowReadsOnlySlow) {
  std::mt19937_64 random(7);
  const Packed packed(RandomNetwork(random), 1);
  packed.pool->delay = std::chrono::milliseconds(2);
  EXPECT_EQ(Running(Value(packed.Streamed(packed.least()))).Outputs(),
            Running(packed.whole()).Outputs());
}

// Runs of two sessions at the same time take turns.
TEST_F(StreamedWeightsTest, SessionsShareOneWindow) {
  std::mt19937_64 random(8);
  const Packed packed(RandomNetwork(random), 1);
  const std::vector<double> wanted = Running(packed.whole()).Outputs();
  const auto streamed = Value(packed.Streamed(packed.least()));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Running running(streamed);
      for (int run = 0; run < 10; ++run) ASSERT_EQ(running.Outputs(), wanted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Several networks packed in memory, streamed through one window.
class OneWindow {
 public:
  OneWindow(std::mt19937_64& random, int count) {
    for (int i = 0; i < count; ++i) {
      packed_.push_back(std::make_unique<Packed>(RandomNetwork(random), 1));
      const Packed& packed = *packed_.back();
      packed.pool->cached = i % 2 > 0;
      const int64_t budget = packed.least() + (packed.all() - packed.least()) / (1 + random() % 4);
      wanted.push_back(Running(packed.whole()).Outputs());
      executables.push_back(Value(packed.Streamed(budget)));
      most = std::max(most, executables.back()->planned().weights.memory_bytes());
      if (i == 0) continue;
      EXPECT_TRUE(IsOk(executables[i]->streamed()->ShareWindowOf(*executables[0]->streamed())));
    }
  }
  PoolInMemory& pool(int i) { return *packed_[i]->pool; }

  std::vector<std::shared_ptr<const Executable>> executables;
  std::vector<std::vector<double>> wanted;
  int64_t most = 0;  // bytes, of the largest window

 private:
  std::vector<std::unique_ptr<Packed>> packed_;
};

TEST_F(StreamedWeightsTest, SeveralPlansTakeTurnsInOneWindow) {
  std::mt19937_64 random(442);
  for (int trial = 0; trial < 6; ++trial) {
    SCOPED_TRACE(trial);
    OneWindow window(random, 3);
    std::vector<std::unique_ptr<Running>> running;
    for (const auto& executable : window.executables) {
      running.push_back(std::make_unique<Running>(executable));
      EXPECT_EQ(executable->weights_bytes(), window.most) << "once for all";
      EXPECT_EQ(executable->weights(), window.executables[0]->weights());
    }
    for (int run = 0; run < 30; ++run) {
      const size_t at = random() % running.size();
      ASSERT_EQ(running[at]->Outputs(), window.wanted[at]) << "run " << run << " of plan " << at;
    }
    running[0].reset();  // the others keep the window
    window.executables[0].reset();
    for (const size_t at : {1, 2, 1}) ASSERT_EQ(running[at]->Outputs(), window.wanted[at]);
  }
}

TEST_F(StreamedWeightsTest, ThreadsOfSeveralPlansTakeTurnsInOneWindow) {
  std::mt19937_64 random(443);
  OneWindow window(random, 3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      Running running(window.executables[i % 3]);
      for (int run = 0; run < 10; ++run) ASSERT_EQ(running.Outputs(), window.wanted[i % 3]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(StreamedWeightsTest, AFailedReadOfOnePlanLeavesTheOthersOfTheWindow) {
  std::mt19937_64 random(444);
  OneWindow window(random, 2);
  Running first(window.executables[0]), second(window.executables[1]);
  const WeightsPlan& weights = window.executables[0]->planned().weights;
  for (const WeightEntry& entry : weights.entries) {
    EXPECT_EQ(second.Outputs(), window.wanted[1]);
    window.pool(0).fail_at = entry.offset;
    window.pool(0).cached = false;
    EXPECT_TRUE(FailsWith(first.Run(), absl::StrCat("pool: no byte ", entry.offset)));
    EXPECT_EQ(second.Outputs(), window.wanted[1]);
    window.pool(0).fail_at = -1;
    EXPECT_EQ(first.Outputs(), window.wanted[0]);
  }
}

TEST_F(StreamedWeightsTest, AWindowInMemoryDoesNotGrow) {
  std::mt19937_64 random(445);
  const Packed packed(RandomNetwork(random), 1);
  const auto small = Value(packed.Streamed(packed.least()));
  const auto large = Value(packed.Streamed(packed.all()));
  const auto late = Value(packed.Streamed(packed.least()));
  Running running(small);
  EXPECT_TRUE(FailsWith(large->streamed()->ShareWindowOf(*small->streamed()),
                        absl::StrCat("share: the window that is shared has ", packed.least(),
                                     " bytes in memory, and this plan needs ", packed.all())));
  EXPECT_TRUE(IsOk(late->streamed()->ShareWindowOf(*small->streamed())));
  EXPECT_EQ(Running(late).Outputs(), running.Outputs());
  EXPECT_EQ(Running(large).Outputs(), running.Outputs()) << "in a window of its own";
}

// Each weight cannot be read for some time; runs after that are right.
TEST_F(StreamedWeightsTest, AFailedReadEndsTheRunAndNotTheSession) {
  std::mt19937_64 random(9);
  const Packed packed(RandomNetwork(random), 2);
  const std::vector<double> wanted = Running(packed.whole()).Outputs();
  const auto streamed = Value(packed.Streamed(packed.least()));
  const WeightWindow& window = *streamed->planned().weights.window;
  ASSERT_GT(window.reads.size(), 1);
  Running running(streamed);
  for (const WeightWindow::Read& read : window.reads) {
    EXPECT_EQ(running.Outputs(), wanted);
    const int64_t offset = streamed->planned().weights.entries[read.weight].offset;
    packed.pool->fail_at = offset;
    absl::Status status = running.Run();
    if (status.ok()) status = running.Run();  // the first one had been read before
    EXPECT_TRUE(FailsWith(status, absl::StrCat("pool: no byte ", offset)));
    packed.pool->fail_at = -1;
  }
  EXPECT_EQ(running.Outputs(), wanted);
}

TEST_F(StreamedWeightsTest, AFailedReadOfAResidentWeightFailsTheSession) {
  std::mt19937_64 random(10);
  const Packed packed(RandomNetwork(random), 1);
  const auto streamed = Value(packed.Streamed(packed.all()));
  packed.pool->fail_at = streamed->planned().weights.entries[0].offset;
  EXPECT_TRUE(FailsWith(Session::Create(streamed).status(), "pool: no byte "));
  packed.pool->fail_at = -1;
  EXPECT_EQ(Running(streamed).Outputs(), Running(packed.whole()).Outputs());
}

TEST_F(StreamedWeightsTest, AFileThatIsWrittenToIsComparedBeforeARun) {
  std::mt19937_64 random(11);
  const Packed packed(RandomNetwork(random), 1);
  const std::vector<double> wanted = Running(packed.whole()).Outputs();
  Running running(Value(packed.Streamed(packed.least())));
  EXPECT_EQ(running.Outputs(), wanted);
  EXPECT_EQ(packed.pool->verified, 0);
  packed.pool->Write();
  packed.pool->intact = false;
  EXPECT_TRUE(FailsWith(running.Run(), "pool: other bytes"));
  packed.pool->intact = true;  // restored
  EXPECT_EQ(running.Outputs(), wanted);
  EXPECT_EQ(packed.pool->verified, 2);
  EXPECT_EQ(running.Outputs(), wanted);
  EXPECT_EQ(packed.pool->verified, 2) << "compared once";
}

TEST_F(StreamedWeightsTest, AFileThatIsWrittenToInARunVoidsItsResults) {
  std::mt19937_64 random(12);
  const Packed packed(RandomNetwork(random), 1);
  const auto streamed = Value(packed.Streamed(packed.least()));
  const int count = static_cast<int>(streamed->planned().weights.window->reads.size());
  ASSERT_GE(streamed->planned().weights.window->reads.back().after, 0) << "read in the run";
  packed.pool->write_at =
      static_cast<int>(streamed->planned().weights.window->resident.size()) + count - 1;
  Running running(streamed);
  EXPECT_TRUE(FailsWith(running.Run(), "pool: was written to while weights were read from it"));
  EXPECT_EQ(running.Outputs(), Running(packed.whole()).Outputs());
}

TEST_F(StreamedWeightsTest, AFileThatIsWrittenToBeforeASessionIsCompared) {
  std::mt19937_64 random(15);
  const Packed packed(RandomNetwork(random), 1);
  const auto streamed = Value(packed.Streamed(packed.all()));
  packed.pool->Write();
  packed.pool->intact = false;
  EXPECT_TRUE(FailsWith(Session::Create(streamed).status(), "pool: other bytes"));
  packed.pool->intact = true;
  packed.pool->write_at = 0;
  EXPECT_TRUE(FailsWith(Session::Create(streamed).status(), "pool: was written to while"));
  EXPECT_EQ(Running(streamed).Outputs(), Running(packed.whole()).Outputs());
}

// Regression: runs of a plan whose weights all stay in the window do not look at the file, and it
// was not compared after they were read anew.
TEST_F(StreamedWeightsTest, AFileThatIsWrittenToWhileAPlanTakesTheWindowOverVoidsTheWeights) {
  std::mt19937_64 random(446);
  const Packed first(RandomNetwork(random), 1), second(RandomNetwork(random), 1);
  const auto streamed = Value(first.Streamed(first.least()));
  const auto resident = Value(second.Streamed(second.all()));
  const WeightWindow& window = *resident->planned().weights.window;
  ASSERT_TRUE(window.reads.empty());
  ASSERT_TRUE(IsOk(resident->streamed()->ShareWindowOf(*streamed->streamed())));
  Running before(streamed), running(resident);
  const std::vector<double> wanted = Running(second.whole()).Outputs();
  const std::function<absl::Status()> takers[] = {[&] { return running.Run(); },
                                                  [&] { return resident->streamed()->Fill(1); }};
  for (const auto& take : takers) {
    EXPECT_EQ(before.Outputs(), Running(first.whole()).Outputs());
    PoolInMemory& pool = *second.pool;
    pool.write_at = pool.reads + static_cast<int>(window.resident.size()) - 1;
    EXPECT_TRUE(FailsWith(take(), "pool: was written to while weights were read from it"));
    pool.intact = false;
    EXPECT_TRUE(FailsWith(take(), "pool: other bytes"));
    EXPECT_TRUE(FailsWith(running.Run(), "pool: other bytes"));
    pool.intact = true;
    EXPECT_EQ(running.Outputs(), wanted);
    EXPECT_EQ(running.Outputs(), wanted) << "without reading again";
    EXPECT_EQ(pool.reads, pool.write_at + 1 + static_cast<int>(window.resident.size()));
  }
}

// The thread that reads does not exist in a fork.
TEST_F(StreamedWeightsTest, AForkIsToldToOpenTheModel) {
  std::mt19937_64 random(16);
  const Packed packed(RandomNetwork(random), 1);
  auto running = std::make_unique<Running>(Value(packed.Streamed(packed.least())));
  const pid_t child = fork();
  if (child == 0) {
    const bool told = FailsWith(running->Run(), "a fork");
    running.reset();  // does not wait for the thread
    _exit(told ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(running->Outputs(), Running(packed.whole()).Outputs());
}

TEST_F(StreamedWeightsTest, TooSmallAWindowNamesTheStepThatNeedsMore) {
  std::mt19937_64 random(13);
  const Packed packed(RandomNetwork(random), 1);
  const absl::Status status = packed.Streamed(1000).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("a window of 1000 bytes is too small for the weights: at least "));
  EXPECT_TRUE(packed.Streamed(*NeededBytes(status)).ok());
}

TEST_F(StreamedWeightsTest, NeedsAPackedFile) {
  std::mt19937_64 random(14);
  PlanRequest request;
  request.target.weights_budget = 1 << 30;
  const Graph graph = RandomNetwork(random);
  EXPECT_TRUE(FailsWith(Executable::Compile(graph, request).status(), "--pack"));
  const PackedModel in_memory = Executable::ToPacked(Value(Executable::Compile(graph, {})));
  EXPECT_TRUE(FailsWith(Executable::FromPacked(in_memory, request).status(), "in memory"));
}

}  // namespace
}  // namespace ashlar::testing

// Memory, streams and events that belong to the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <random>
#include <vector>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "opr/elemwise.h"
#include "runtime/session/arena_memory.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/pipeline.h"
#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

// Constants of cuda_runtime_api.h.
constexpr unsigned kNonBlocking = 1;
constexpr int kToDevice = 1, kToHost = 2;

// Calls a function of the runtime, which must not fail.
template <typename... Args>
void Cuda(const char* function, Args... args) {
  EXPECT_EQ(reinterpret_cast<int (*)(Args...)>(EmulatedFunction(function))(args...), 0) << function;
}

class TheirStream {
 public:
  TheirStream() { Cuda("cudaStreamCreateWithFlags", &stream_, kNonBlocking); }
  ~TheirStream() { Cuda("cudaStreamDestroy", stream_); }
  TheirStream(const TheirStream&) = delete;
  TheirStream& operator=(const TheirStream&) = delete;
  void* get() const { return stream_; }
  void Copy(void* to, const void* from, int64_t bytes, int kind) {
    Cuda("cudaMemcpyAsync", to, from, static_cast<size_t>(bytes), kind, stream_);
  }
  void Synchronize() { Cuda("cudaStreamSynchronize", stream_); }

 private:
  void* stream_ = nullptr;
};

class TheirEvent {
 public:
  TheirEvent() { Cuda("cudaEventCreate", &event_); }
  ~TheirEvent() { Cuda("cudaEventDestroy", event_); }
  TheirEvent(const TheirEvent&) = delete;
  TheirEvent& operator=(const TheirEvent&) = delete;
  void* get() const { return event_; }
  void Record(TheirStream& stream) { Cuda("cudaEventRecordWithFlags", event_, stream.get(), 0U); }
  void Block(TheirStream& stream) { Cuda("cudaStreamWaitEvent", stream.get(), event_, 0U); }

 private:
  void* event_ = nullptr;
};

// Otherwise tests would not notice that the host computes on device memory.
TEST(EmulatedMemory, IsClosedToTheHost) {
  OpenEmulated();
  float* memory = nullptr;
  Cuda("cudaMalloc", reinterpret_cast<void**>(&memory), sizeof(float));
  float value = 2;
  Cuda("cudaMemcpy", static_cast<void*>(memory), static_cast<const void*>(&value), sizeof(float),
       kToDevice);
  EXPECT_EXIT(*const_cast<volatile float*>(memory) = 1, ::testing::KilledBySignal(SIGSEGV), "");
  Cuda("cudaMemcpy", static_cast<void*>(&value), static_cast<const void*>(memory), sizeof(float),
       kToHost);
  EXPECT_EQ(value, 2);
  Cuda("cudaFree", static_cast<void*>(memory));
}

class Callers : public ::testing::Test {
 protected:
  static constexpr int kImages = 3;
  struct Image {
    HostTensor tensor, expected;
  };

  void SetUp() override {
    const Graph& graph = inference_.graph();
    for (Image& image : images_) {
      image.tensor = RandomTensor(random_, graph.var(graph.inputs()[0].var).type.shape);
      image.expected = Value(EvaluateGraph(graph, {{"data", image.tensor}}))[0];
    }
    in_bytes_ = images_[0].tensor.bytes();
    out_bytes_ = images_[0].expected.bytes();
  }
  std::unique_ptr<Session> NewSession(const SessionOptions& options = {}) {
    return Value(Session::Create(executable_, options));
  }
  const HostTensor& image(int i) const { return images_[static_cast<size_t>(i)].tensor; }
  // Returns a copy of input i in memory of its own.
  HostTensor CopyOf(int i) const {
    HostTensor copy = HostTensor::Zeros(DType::kFloat32, image(i).shape());
    std::memcpy(copy.mutable_raw(), image(i).raw(), static_cast<size_t>(in_bytes_));
    return copy;
  }
  // Returns the error of these floats as the output of image i.
  double ErrorOf(const void* floats, int i) const {
    HostTensor output = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
    std::memcpy(output.mutable_raw(), floats, static_cast<size_t>(out_bytes_));
    return LargestDifference(output, images_[static_cast<size_t>(i)].expected);
  }
  void ExpectOutput(const void* floats, int i, const std::string& where = "") const {
    EXPECT_LE(ErrorOf(floats, i), 1e-4) << where << ", image " << i;
  }
  // Returns the largest error of runs whose input another stream makes and whose output it reads.
  double ErrorByEvents(int64_t order, bool waits) {
    EmulatedGpu().machine().order = order;
    TheirStream stream;
    TheirEvent made, done;
    const std::unique_ptr<Session> session = NewSession();
    const std::unique_ptr<DeviceMemory> input = Value(device_.Allocate(in_bytes_)),
                                        output = Value(device_.Allocate(out_bytes_)),
                                        host = Value(device_.AllocateStaging(in_bytes_)),
                                        result = Value(device_.AllocateStaging(out_bytes_));
    EXPECT_TRUE(IsOk(session->BindDeviceInput("data", input->data(), in_bytes_)));
    EXPECT_TRUE(IsOk(session->BindDeviceOutput("prob", output->data(), out_bytes_)));
    double worst = 0;
    for (int run = 0; run < 6; ++run) {
      std::memcpy(host->data(), image(run % kImages).raw(), static_cast<size_t>(in_bytes_));
      stream.Copy(input->data(), host->data(), in_bytes_, kToDevice);
      made.Record(stream);
      if (waits) {
        EXPECT_TRUE(IsOk(session->WaitForEvent(made.get())));
      }
      EXPECT_TRUE(IsOk(session->Start()));
      EXPECT_TRUE(IsOk(session->RecordEvent(done.get())));
      if (waits) done.Block(stream);
      stream.Copy(result->data(), output->data(), out_bytes_, kToHost);
      stream.Synchronize();
      worst = std::max(worst, ErrorOf(result->data(), run % kImages));
      EXPECT_TRUE(IsOk(session->Wait()));
    }
    return worst;
  }
  double ErrorInOneArena(int64_t order, bool waits) {
    EmulatedGpu().machine().order = order;
    SessionOptions options;
    options.arena = Value(AllocateArena(executable_->planned()));
    constexpr int kSessions = 2;
    std::array<std::unique_ptr<Session>, kSessions> sessions;
    std::array<HostTensor, kSessions> outputs;
    for (int i = 0; i < kSessions; ++i) {
      const auto at = static_cast<size_t>(i);
      sessions[at] = NewSession(options);
      outputs[at] = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
      EXPECT_TRUE(IsOk(sessions[at]->BindInput("data", image(i).raw(), in_bytes_)));
      EXPECT_TRUE(IsOk(sessions[at]->BindOutput("prob", outputs[at].mutable_raw(), out_bytes_)));
      EXPECT_TRUE(IsOk(sessions[at]->Run()));
    }
    double worst = 0;
    for (int run = 0; run < 4; ++run) {
      EXPECT_TRUE(IsOk(sessions[0]->Start()));
      EXPECT_TRUE(IsOk(waits ? sessions[1]->StartAfter(*sessions[0]) : sessions[1]->Start()));
      for (size_t i = 0; i < kSessions; ++i) {
        EXPECT_TRUE(IsOk(sessions[i]->Wait()));
        worst = std::max(worst, ErrorOf(outputs[i].raw(), static_cast<int>(i)));
      }
    }
    return worst;
  }
  static int64_t Live(const std::string& kind) {
    const auto live = EmulatedGpu().live();
    const auto it = live.find(kind);
    return it == live.end() ? 0 : it->second;
  }

  std::mt19937_64 random_{23};
  Inference inference_;
  Device& device_ = OpenEmulated();
  std::shared_ptr<const Executable> executable_ = Value(inference_.Compile());
  std::array<Image, kImages> images_;
  int64_t in_bytes_ = 0, out_bytes_ = 0;
};

TEST_F(Callers, PinnedMemoryIsCopiedByTheDeviceFromItsPlace) {
  HostTensor input = CopyOf(0),
             output = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
  ASSERT_TRUE(IsOk(device_.Pin(input.mutable_raw(), in_bytes_)));
  ASSERT_TRUE(IsOk(device_.Pin(output.mutable_raw(), out_bytes_)));
  {
    const std::unique_ptr<Session> session = NewSession();
    ASSERT_TRUE(IsOk(session->BindInput("data", input.raw(), in_bytes_)));
    ASSERT_TRUE(IsOk(session->BindOutput("prob", output.mutable_raw(), out_bytes_)));
    ASSERT_TRUE(IsOk(session->Run()));
    ExpectOutput(output.raw(), 0);
    // The device reads the input in place when it gets there, so it sees host writes after the
    // start.
    for (const int i : {1, 2, 0}) {
      ASSERT_TRUE(IsOk(session->Start()));
      std::memcpy(input.mutable_raw(), image(i).raw(), static_cast<size_t>(in_bytes_));
      ASSERT_TRUE(IsOk(session->Wait()));
      ExpectOutput(output.raw(), i);
    }
    // Other tensors are copied by the host: a write after the start comes too late.
    HostTensor pageable = CopyOf(2);
    ASSERT_TRUE(IsOk(session->BindInput("data", pageable.raw(), in_bytes_)));
    ASSERT_TRUE(IsOk(session->Start()));
    std::memcpy(pageable.mutable_raw(), image(1).raw(), static_cast<size_t>(in_bytes_));
    ASSERT_TRUE(IsOk(session->Wait()));
    ExpectOutput(output.raw(), 2, "pageable");
  }
  EXPECT_TRUE(IsOk(device_.Unpin(input.mutable_raw())));
  EXPECT_TRUE(IsOk(device_.Unpin(output.mutable_raw())));
}

TEST_F(Callers, OtherPinnedMemoryIsAnotherRecording) {
  std::vector<HostTensor> inputs, outputs;
  for (int i = 0; i < kImages; ++i) {
    inputs.push_back(image(i));
    outputs.push_back(HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape()));
    ASSERT_TRUE(IsOk(device_.Pin(inputs.back().mutable_raw(), in_bytes_)));
    ASSERT_TRUE(IsOk(device_.Pin(outputs.back().mutable_raw(), out_bytes_)));
  }
  const std::unique_ptr<Session> session = NewSession();
  const auto run = [&](size_t i) {
    ASSERT_TRUE(IsOk(session->BindInput("data", inputs[i].raw(), in_bytes_)));
    ASSERT_TRUE(IsOk(session->BindOutput("prob", outputs[i].mutable_raw(), out_bytes_)));
    ASSERT_TRUE(IsOk(session->Run()));
    ExpectOutput(outputs[i].raw(), static_cast<int>(i));
  };
  for (const size_t i : {0, 0, 1, 2, 1, 1, 0}) run(i);
  // After Unpin and a new binding it is treated like any memory.
  ASSERT_TRUE(IsOk(device_.Unpin(inputs[0].mutable_raw())));
  ASSERT_TRUE(IsOk(device_.Unpin(outputs[0].mutable_raw())));
  for (const size_t i : {0, 1, 0, 2}) run(i);
  for (size_t i = 1; i < kImages; ++i) {
    EXPECT_TRUE(IsOk(device_.Unpin(inputs[i].mutable_raw())));
    EXPECT_TRUE(IsOk(device_.Unpin(outputs[i].mutable_raw())));
  }
}

TEST_F(Callers, MemoryThatCannotBePinnedIsRefused) {
  std::vector<char> block(1000);
  const auto is_refused = [](const absl::Status& status, const char* why) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  };
  ASSERT_TRUE(IsOk(device_.Pin(block.data() + 100, 800)));
  for (const auto& [from, bytes] :
       {std::pair(100, 800), {0, 101}, {899, 50}, {0, 1000}, {500, 1}}) {
    is_refused(device_.Pin(block.data() + from, bytes), "overlap");
  }
  EXPECT_TRUE(IsOk(device_.Pin(block.data(), 100)));
  EXPECT_TRUE(IsOk(device_.Pin(block.data() + 900, 100)));
  is_refused(device_.Pin(nullptr, 8), "null");
  is_refused(device_.Pin(block.data(), 0), "0 bytes");
  is_refused(device_.Unpin(block.data() + 1), "does not begin");
  EXPECT_TRUE(device_.IsPinned(block.data() + 100, 800));
  EXPECT_FALSE(device_.IsPinned(block.data() + 100, 801));
  EXPECT_FALSE(device_.IsPinned(block.data() + 1000, 1));
  for (const int begin : {0, 100, 900}) EXPECT_TRUE(IsOk(device_.Unpin(block.data() + begin)));
  EXPECT_FALSE(device_.IsPinned(block.data() + 100, 1));
  is_refused(device_.Unpin(block.data()), "does not begin");

  EmulatedGpu().Fail("cudaHostRegister", 1);
  EXPECT_TRUE(absl::IsUnavailable(device_.Pin(block.data(), 8)));
  EXPECT_FALSE(device_.IsPinned(block.data(), 8));
}

TEST_F(Callers, WhatOthersHavePinnedTheyUnpin) {
  const std::unique_ptr<DeviceMemory> theirs = Value(device_.AllocateStaging(512));
  EXPECT_FALSE(device_.IsPinned(theirs->data(), 512));
  ASSERT_TRUE(IsOk(device_.Pin(theirs->data(), 512)));
  EXPECT_TRUE(device_.IsPinned(theirs->data(), 512));
  ASSERT_TRUE(IsOk(device_.Unpin(theirs->data())));
  EXPECT_FALSE(device_.IsPinned(theirs->data(), 512));
  EXPECT_EQ(Live("pinned memory"), 1);
}

// The caller's copies, runs and copies again, without a wait in between.
TEST_F(Callers, RunsAreWorkOfTheirStream) {
  TheirStream stream;
  SessionOptions options;
  options.stream = stream.get();
  {
    const std::unique_ptr<Session> session = NewSession(options);
    EXPECT_EQ(Live("streams"), 2) << "work is captured on another";
    const std::unique_ptr<DeviceMemory> input = Value(device_.Allocate(in_bytes_)),
                                        output = Value(device_.Allocate(out_bytes_)),
                                        host = Value(device_.AllocateStaging(in_bytes_ * kImages)),
                                        results = Value(device_.AllocateStaging(out_bytes_ * 9));
    ASSERT_TRUE(IsOk(session->BindDeviceInput("data", input->data(), in_bytes_)));
    ASSERT_TRUE(IsOk(session->BindDeviceOutput("prob", output->data(), out_bytes_)));
    const auto place = [](const auto& block, int64_t bytes, int i) {
      return static_cast<char*>(block->data()) + i * bytes;
    };
    for (int i = 0; i < kImages; ++i) {
      std::memcpy(place(host, in_bytes_, i), image(i).raw(), static_cast<size_t>(in_bytes_));
    }
    for (int run = 0; run < 9; ++run) {
      stream.Copy(input->data(), place(host, in_bytes_, run % kImages), in_bytes_, kToDevice);
      ASSERT_TRUE(IsOk(session->Start()));
      stream.Copy(place(results, out_bytes_, run), output->data(), out_bytes_, kToHost);
    }
    stream.Synchronize();
    for (int run = 0; run < 9; ++run) {
      ExpectOutput(place(results, out_bytes_, run), run % kImages, absl::StrCat("run ", run));
    }
    EXPECT_TRUE(IsOk(session->recording_status()));
  }
  EXPECT_EQ(Live("streams"), 1) << "theirs stays";
}

TEST_F(Callers, TheWaitIsForTheRunAlone) {
  TheirStream stream;
  SessionOptions options;
  options.stream = stream.get();
  const std::unique_ptr<Session> session = NewSession(options);
  HostTensor input = CopyOf(0),
             output = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
  ASSERT_TRUE(IsOk(session->BindInput("data", input.raw(), in_bytes_)));
  ASSERT_TRUE(IsOk(session->BindOutput("prob", output.mutable_raw(), out_bytes_)));
  ASSERT_TRUE(IsOk(session->Run()));
  const std::unique_ptr<DeviceMemory> later = Value(device_.AllocateStaging(8)),
                                      there = Value(device_.Allocate(8));
  ASSERT_TRUE(IsOk(device_.Fill(there->data(), 7, 8)));
  for (const int i : {1, 2}) {
    std::memset(later->data(), 1, 8);
    input = CopyOf(i);
    ASSERT_TRUE(IsOk(session->BindInput("data", input.raw(), in_bytes_)));
    ASSERT_TRUE(IsOk(session->Start()));
    stream.Copy(later->data(), there->data(), 8, kToHost);
    ASSERT_TRUE(IsOk(session->Wait()));
    ExpectOutput(output.raw(), i);
    EXPECT_EQ(*static_cast<char*>(later->data()), 1) << "their later work is still under way";
    stream.Synchronize();
    EXPECT_EQ(*static_cast<char*>(later->data()), 7);
  }
}

TEST_F(Callers, TheDefaultStreamMayBeTheirs) {
  SessionOptions options;
  options.stream = reinterpret_cast<void*>(1);  // cudaStreamLegacy
  const std::unique_ptr<Session> session = NewSession(options);
  ASSERT_TRUE(IsOk(inference_.Run(*session, 3)));
  EXPECT_LE(inference_.Error(), 1e-4);
  EXPECT_TRUE(IsOk(session->recording_status()));
}

struct WorstOrder {
  double error = 0;
  int64_t order = 0;  // EMULATED_GPU=order=N repeats this order
};

// Returns the order with the largest error among the orders of work from `first` on.
template <typename ErrorOf>
WorstOrder WorstOf(int64_t first, const ErrorOf& error_of) {
  WorstOrder worst;
  for (int64_t order = first; order < 12; ++order) {
    const double error = error_of(order);
    if (!(error <= worst.error)) worst = {error, order};
  }
  return worst;
}

// Expects `error_of(order, waits)` to be small in every order with waits, and large in at least one
// without.
template <typename ErrorOf>
void ExpectWaitsToCount(const ErrorOf& error_of) {
  const WorstOrder with = WorstOf(0, [&](int64_t order) { return error_of(order, true); });
  EXPECT_LE(with.error, 1e-4) << "order " << with.order;
  const WorstOrder without = WorstOf(1, [&](int64_t order) { return error_of(order, false); });
  EXPECT_GT(without.error, 1e-2) << "no order shows that a wait is missing";
}

// The caller's stream makes the input and reads the output. The session's own stream waits only for
// events, in whatever order the device does the work.
TEST_F(Callers, EventsOrderTheirWorkAndRuns) {
  ExpectWaitsToCount([&](int64_t order, bool waits) { return ErrorByEvents(order, waits); });
}

// Sessions of one arena, started one after another.
TEST_F(Callers, RunsOfOneArenaWaitForEachOther) {
  ExpectWaitsToCount([&](int64_t order, bool waits) { return ErrorInOneArena(order, waits); });
}

// Each handle takes memory on the device; the device itself has one handle.
TEST_F(Callers, SessionsOfOneArenaShareAHandle) {
  const int64_t before = Live("cuDNN handles");
  for (const auto& [in_flight, arena_each, handles] :
       {std::tuple(1, false, 1), {3, false, 1}, {3, true, 3}}) {
    PipelineOptions options;
    options.in_flight = in_flight;
    options.arena_each = arena_each;
    const std::unique_ptr<Pipeline> pipeline = Value(Pipeline::Create(executable_, options));
    EXPECT_EQ(Live("cuDNN handles"), before) << "none before it is needed";
    std::vector<HostTensor> outputs(static_cast<size_t>(in_flight), images_[0].expected);
    int waited = 0;
    for (int run = 0; run < 9; ++run) {
      Session* session = pipeline->next();
      if (session == nullptr) {
        ASSERT_TRUE(IsOk(pipeline->Wait()));
        ExpectOutput(outputs[static_cast<size_t>(waited % in_flight)].raw(), waited % kImages);
        ++waited;
        session = pipeline->next();
      }
      HostTensor& output = outputs[static_cast<size_t>(run % in_flight)];
      output = HostTensor::Zeros(DType::kFloat32, images_[0].expected.shape());
      ASSERT_TRUE(IsOk(session->BindInput("data", image(run % kImages).raw(), in_bytes_)));
      ASSERT_TRUE(IsOk(session->BindOutput("prob", output.mutable_raw(), out_bytes_)));
      ASSERT_TRUE(IsOk(pipeline->Start()));
    }
    for (; pipeline->running() > 0; ++waited) {
      ASSERT_TRUE(IsOk(pipeline->Wait()));
      ExpectOutput(outputs[static_cast<size_t>(waited % in_flight)].raw(), waited % kImages);
    }
    EXPECT_EQ(Live("cuDNN handles"), before + handles) << in_flight;
  }
  EXPECT_EQ(Live("cuDNN handles"), before);
}

TEST_F(Callers, SessionsWithoutCudnnsKernelsMakeNoHandle) {
  GraphMaker make;
  const int x = make.Input("x", {1, 64});
  make.Output(make.Add<Elemwise>(ElemwiseParam{ScalarFunction::kExp}, {x}, "exp"));
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  const auto created = [] { return EmulatedGpu().calls()["cudnnCreate"]; };
  const int64_t before = created();
  const std::unique_ptr<Session> session =
      Value(Session::Create(Value(Executable::Compile(std::move(make).Build(), request))));
  const InputTensors inputs = {{"x", HostTensor::Zeros(DType::kFloat32, {1, 64})}};
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(IsOk(session->Run()));
  EXPECT_EQ(outputs[0].At(63), 1);
  EXPECT_EQ(created(), before);
}

// A first run creates a handle and loads engines, which the caller's capture cannot contain.
TEST_F(Callers, AFirstRunInACaptureIsRefused) {
  TheirStream stream;
  SessionOptions options;
  options.stream = stream.get();
  Inference inference(5);
  const std::unique_ptr<Session> session =
      Value(Session::Create(Value(inference.Compile()), options));
  constexpr int kThreadLocal = 1;
  Cuda("cudaStreamBeginCapture", stream.get(), kThreadLocal);
  EXPECT_FALSE(inference.Run(*session, 1).ok());
  EXPECT_THAT(EmulatedGpu().misuses(),
              ::testing::Contains(HasSubstr("cudnnCreate: this thread captures a stream")));
  EmulatedGpu().ForgetMisuses();
  void* graph = nullptr;
  using End = int (*)(void*, void**);
  EXPECT_NE(reinterpret_cast<End>(EmulatedFunction("cudaStreamEndCapture"))(stream.get(), &graph),
            0);
  ASSERT_TRUE(IsOk(inference.Run(*session, 3)));
  EXPECT_LE(inference.Error(), 1e-4);
}

TEST_F(Callers, WhatFailsOnceMayBeTriedAgain) {
  TheirStream stream;
  SessionOptions options;
  options.stream = stream.get();
  for (const char* const function : {"cudaEventSynchronize", "cudnnSetStream", "cudaGraphLaunch"}) {
    const std::unique_ptr<Session> session = NewSession(options);
    EmulatedGpu().Fail(function, 1);
    EXPECT_FALSE(IsOk(inference_.Run(*session, 3))) << function;
    EXPECT_TRUE(EmulatedGpu().failed()) << function;
    EXPECT_TRUE(IsOk(inference_.Run(*session, 3))) << function;
    EXPECT_LE(inference_.Error(), 1e-4) << function;
  }
}

}  // namespace
}  // namespace ashlar::testing

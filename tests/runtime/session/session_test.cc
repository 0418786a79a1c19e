#include "runtime/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "graph/graph_builder.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/session/bind_tensors.h"
#include "tests/runtime/fake_device.h"

namespace ashlar {
namespace {

using testing::FakeDevice;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kElements = 10000;

// Returns data -> EXP -> TANH -> ... -> out, with `length` elementwise operators.
Graph Chain(int length) {
  GraphBuilder builder;
  GraphBuilder::NodeOptions options;
  options.name = "data";
  int var = (*builder.Add(
      std::make_shared<Host2DeviceCopy>(InputParam{DType::kFloat32, {kElements}}), {}, options))[0];
  for (int i = 0; i < length; ++i) {
    const ScalarFunction mode = i % 2 == 0 ? ScalarFunction::kTanh : ScalarFunction::kExp;
    var = (*builder.Add(std::make_shared<Elemwise>(ElemwiseParam{mode}), {var}))[0];
  }
  options.name = "";
  options.binding = "out";
  EXPECT_TRUE(builder.Add(std::make_shared<OutputCallback>(OutputParam{}), {var}, options).ok());
  return *std::move(builder).Build();
}

PlanRequest OnFakeDevice() {
  PlanRequest options;
  options.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  return options;
}

HostTensor Ramp() {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, Shape{kElements});
  for (int64_t i = 0; i < kElements; ++i) tensor.Set(i, static_cast<double>(i) / kElements);
  return tensor;
}

class SessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

TEST_F(SessionTest, MoreTensorsThanOutputsAreRefused) {
  const auto session = Session::Create(*Executable::Compile(Chain(2), {}));
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<HostTensor> outputs = {Ramp(), Ramp()};
  const absl::Status status = BindTensors(**session, {{"data", Ramp()}}, outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("2 tensors for outputs, of which there are 1"));
}

TEST_F(SessionTest, SaysWhatIsNotBoundAndWhatDoesNotFit) {
  auto session = Session::Create(*Executable::Compile(Chain(3), {}));
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<float> data(kElements);
  EXPECT_THAT(std::string((*session)->Run().message()), HasSubstr("input 'data' is not bound"));
  EXPECT_THAT(std::string((*session)->BindInput("dta", data.data(), 40000).message()),
              HasSubstr("no input 'dta'; the model has: data"));
  EXPECT_THAT(std::string((*session)->BindInput("data", data.data(), 39996).message()),
              HasSubstr("has 39996 bytes, expected 40000"));
  ASSERT_TRUE((*session)->BindInput("data", data.data(), 40000).ok());
  EXPECT_THAT(std::string((*session)->Run().message()), HasSubstr("output 'out' is not bound"));
  ASSERT_TRUE((*session)->BindOutput("out", data.data(), 40000).ok());
  EXPECT_TRUE((*session)->Run().ok());
}

TEST_F(SessionTest, BindsAnewAndRunsSideBySide) {
  auto executable = Executable::Compile(Chain(5), {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  const HostTensor input = Ramp();
  std::vector<std::vector<float>> results(4, std::vector<float>(kElements));
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      auto session = Session::Create(*executable);
      ASSERT_TRUE(session.ok());
      std::vector<float> other(kElements);
      ASSERT_TRUE((*session)->BindInput("data", input.raw(), input.bytes()).ok());
      ASSERT_TRUE((*session)->BindOutput("out", other.data(), 4 * kElements).ok());
      ASSERT_TRUE((*session)->Run().ok());
      ASSERT_TRUE((*session)->BindOutput("out", result.data(), 4 * kElements).ok());
      for (int i = 0; i < 20; ++i) ASSERT_TRUE((*session)->Run().ok());
      EXPECT_EQ(other, result);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_NE(results[0][10], results[0][900]);
}

TEST_F(SessionTest, ListenersHearEveryStep) {
  struct Listener final : public RunListener {
    void OnRunBegin() override { events += "["; }
    void OnStepBegin(int step) override { events += std::to_string(step); }
    void OnStepEnd(int) override { events += "."; }
    void OnRunEnd() override { events += "]"; }
    std::string events;
  } listener;
  auto session = Session::Create(*Executable::Compile(Chain(2), {}));
  std::vector<float> data(kElements);
  ASSERT_TRUE((*session)->BindInput("data", data.data(), 40000).ok());
  ASSERT_TRUE((*session)->BindOutput("out", data.data(), 40000).ok());
  ASSERT_TRUE((*session)->Run(listener).ok());
  EXPECT_EQ(listener.events, "[0.1.2.3.]");
}

TEST_F(SessionTest, AnUnknownDeviceAndAMissingKernelAreNamed) {
  PlanRequest options = OnFakeDevice();
  FakeDevice::Install({});
  const auto planned = PlanGraph(Chain(2), options);
  ASSERT_FALSE(planned.ok());
  EXPECT_EQ(planned.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(planned.status().message()), HasSubstr("Elemwise"));
  options.target.comp_node = {CompNode::Type::kCpu, 3, 0};
  EXPECT_THAT(std::string(PlanGraph(Chain(2), options).status().message()), HasSubstr("cpu3:0"));
}

TEST_F(SessionTest, WorkspaceThatWouldRaiseThePeakGivesWayToLess) {
  PlanRequest options = OnFakeDevice();
  options.planning.inplace = false;
  // The middle operator has two tensors live (80000 bytes), the ends have one (caller's
  // I/O).
  FakeDevice::Install({{.name = "fast", .workspace = 30000}, {.name = "lean", .time = 1.1}});
  int64_t arena = 0;
  for (const auto& [extra, middle] :
       {std::pair(0, "lean"), std::pair(29999, "lean"), std::pair(30000, "fast")}) {
    SCOPED_TRACE(extra);
    options.planning.extra_workspace = extra;
    const auto planned = PlanGraph(Chain(3), options);
    ASSERT_TRUE(planned.ok()) << planned.status();
    std::vector<std::string> chosen;
    for (int node : (*planned)->schedule.order) {
      if ((*planned)->kernels[node] != nullptr) {
        chosen.push_back((*planned)->kernels[node]->implementation());
      }
    }
    EXPECT_EQ(chosen, (std::vector<std::string>{"fast", middle, "fast"}));
    EXPECT_EQ((*planned)->plan.plan.arena, (*planned)->plan.lower_bound);
    if (extra == 0) arena = (*planned)->plan.plan.arena;
    EXPECT_EQ((*planned)->plan.plan.arena > arena, extra == 30000);
  }
}

TEST_F(SessionTest, WorkspaceStaysWhereLessCostsTooMuchTime) {
  PlanRequest options = OnFakeDevice();
  options.planning.inplace = false;
  FakeDevice::Install({{.name = "fast", .workspace = 30000}, {.name = "slow", .time = 3}});
  const auto planned = PlanGraph(Chain(3), options);
  ASSERT_TRUE(planned.ok()) << planned.status();
  for (int node : (*planned)->schedule.order) {
    if ((*planned)->kernels[node] == nullptr) continue;
    EXPECT_EQ((*planned)->kernels[node]->implementation(), "fast");
  }
}

TEST_F(SessionTest, MeasuredMemoryIsThePlannedMemory) {
  const auto measured = Measure(Chain(6), {}, {{"data", Ramp()}});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_TRUE(measured->ok);
  EXPECT_EQ(measured->arena.actual_bytes, measured->arena.planned_bytes);
  EXPECT_EQ(measured->output.actual_bytes, 4 * kElements);
  EXPECT_EQ(measured->input.actual_bytes, 4 * kElements);
  EXPECT_EQ(measured->heap.own_calls, 0);
  const auto guards = CheckGuards(Chain(6), {}, {{"data", Ramp()}});
  ASSERT_TRUE(guards.ok()) << guards.status();
  EXPECT_THAT(*guards, IsEmpty());
}

TEST_F(SessionTest, AChunkPlannedTooSmallIsFound) {
  PlanRequest options;
  options.debug.understate_bytes = 64;
  const auto measured = Measure(Chain(6), options, {{"data", Ramp()}});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_FALSE(measured->ok);
  EXPECT_GT(measured->arena.actual_bytes, measured->arena.planned_bytes);
}

TEST_F(SessionTest, TheOperatorThatOverrunsItsChunkIsNamed) {
  FakeDevice::Install({{.name = "bad", .overrun = 8}});
  PlanRequest options = OnFakeDevice();
  options.planning.inplace = false;
  const Graph graph = Chain(3);
  const auto guards = CheckGuards(graph, options, {{"data", Ramp()}});
  ASSERT_TRUE(guards.ok()) << guards.status();
  ASSERT_FALSE(guards->empty());
  EXPECT_THAT((*guards)[0], HasSubstr(graph.node(2).name));
  EXPECT_THAT((*guards)[0], HasSubstr("wrote past the chunk of"));
}

}  // namespace
}  // namespace ashlar

// States: tensors that live from run to run, and are updated in place.
#include "graph/state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/passes/pass.h"
#include "opr/elemwise.h"
#include "opr/table.h"
#include "opr/update.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

HostTensor Filled(const Shape& shape, float value) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  std::fill(tensor.mutable_data<float>().begin(), tensor.mutable_data<float>().end(), value);
  return tensor;
}

int State(GraphMaker& make, const std::string& name, HostTensor value) {
  return make.Add(Operators().MakeState(std::move(value)), {}, name);
}

int Pointwise(GraphMaker& make, ScalarFunction mode, std::vector<int> inputs,
              const std::string& name = "") {
  return make.Add<Elemwise>({mode}, std::move(inputs), name);
}

constexpr int64_t kSize = 64;

// Returns y = x * w + w; w becomes w + x after both reads.
Graph Accumulating(bool reads_the_new_one = false) {
  GraphMaker make;
  const int x = make.Input("x", {kSize});
  const int w = State(make, "w", Filled({kSize}, 2));
  const int product = Pointwise(make, ScalarFunction::kMul, {x, w}, "product");
  const int y = Pointwise(make, ScalarFunction::kAdd, {product, w}, "y");
  const int next = make.Add<AddUpdate>({1, 1, 0}, {w, x}, "update");
  make.Output(y);
  if (reads_the_new_one) {
    make.Output(Pointwise(make, ScalarFunction::kExp, {next}, "after"));
  }
  return std::move(make).Build();
}

class StateTest : public ::testing::Test {
 protected:
  void SetUp() override { cpu::RegisterDevice(); }

  // Returns a session with an input of ones and all outputs bound.
  std::unique_ptr<Session> Open(std::shared_ptr<const Executable> executable,
                                const SessionOptions& options = {}) {
    std::unique_ptr<Session> session = Value(Session::Create(std::move(executable), options));
    outputs_ = Value(BindTensors(*session, {{"x", ones_}}));
    return session;
  }
  float Output(size_t index = 0) const { return outputs_[index].data<float>()[kSize - 1]; }

  const HostTensor ones_ = Filled({kSize}, 1);
  std::vector<HostTensor> outputs_;
};

TEST_F(StateTest, LivesFromRunToRunAndIsUpdatedBehindItsReaders) {
  const auto session = Open(Value(Executable::Compile(Accumulating(), {})));
  for (int run = 0; run < 4; ++run) {
    ASSERT_TRUE(IsOk(session->Run()));
    EXPECT_EQ(Output(), 2 * (2 + run)) << "run " << run;
    EXPECT_EQ(Value(session->ReadState("w")).At(0), 3 + run);
  }
  ASSERT_TRUE(IsOk(session->WriteState("w", Filled({kSize}, 10))));
  ASSERT_TRUE(IsOk(session->Run()));
  EXPECT_EQ(Output(), 20);
}

TEST_F(StateTest, HasAPoolOfItsOwnInThePlan) {
  const auto executable = Value(Executable::Compile(Accumulating(), {}));
  const PlannedGraph& planned = executable->planned();
  ASSERT_EQ(planned.state.entries.size(), 1u);
  EXPECT_EQ(planned.state.entries[0].name, "w");
  EXPECT_EQ(planned.state.bytes, kSize * 4);
  EXPECT_EQ(planned.weights.bytes, 0);
  for (size_t n = 0; n < planned.graph.nodes().size(); ++n) {
    const OperatorNode& node = planned.graph.node(static_cast<int>(n));
    if (node.name != "update") continue;
    EXPECT_TRUE(planned.model.writes[n].empty());
    const std::optional<Location> in = planned.LocateInput(static_cast<int>(n), 0);
    const std::optional<Location> out = planned.LocateOutput(static_cast<int>(n), 0);
    ASSERT_TRUE(in && out);
    EXPECT_EQ(in->pool, Pool::kState);
    EXPECT_EQ(out->pool, Pool::kState);
    EXPECT_EQ(in->offset, out->offset);
  }
}

TEST_F(StateTest, EveryOrderUpdatesBehindAllReaders) {
  for (const Order order : {Order::kLeastPeak, Order::kMegEngine, Order::kAsGiven}) {
    PlanRequest request;
    request.planning.order = order;
    const auto session = Open(Value(Executable::Compile(Accumulating(true), request)));
    const PlannedGraph& planned = session->executable().planned();
    ASSERT_FALSE(planned.model.runs_before.empty());
    ASSERT_TRUE(IsOk(session->Run()));
    EXPECT_EQ(Output(0), 4) << Name(order);
    EXPECT_FLOAT_EQ(Output(1), std::exp(3.0f)) << Name(order);
  }
}

TEST_F(StateTest, IsNoConstantToPasses) {
  const Graph graph = Accumulating();
  const Graph folded = Value(FoldConstants(graph, Operators()));
  EXPECT_EQ(folded.nodes().size(), graph.nodes().size());
  const StateUse use = FindStateUse(folded);
  EXPECT_EQ(std::count(use.updates.begin(), use.updates.end(), true), 1);
}

TEST_F(StateTest, IsSharedBySessionsOfOtherPlans) {
  const auto training = Open(Value(Executable::Compile(Accumulating(), {})));
  GraphMaker make;
  const int x = make.Input("x", {kSize});
  const int w = State(make, "w", Filled({kSize}, -1));
  make.Output(Pointwise(make, ScalarFunction::kMul, {x, w}));
  const auto executable = Value(Executable::Compile(std::move(make).Build(), {}));
  const std::vector<HostTensor> of_training = std::move(outputs_);
  const auto inference = Open(executable, {.state = training->state()});
  ASSERT_TRUE(IsOk(inference->Run()));
  EXPECT_EQ(Output(), 2);
  ASSERT_TRUE(IsOk(training->Run()));
  ASSERT_TRUE(IsOk(inference->Run()));
  EXPECT_EQ(Output(), 3);
}

TEST_F(StateTest, OtherStatesAreRefusedByName) {
  const auto session = Open(Value(Executable::Compile(Accumulating(), {})));
  EXPECT_TRUE(absl::IsNotFound(session->ReadState("v").status()));
  const absl::Status status = session->WriteState("w", Filled({2}, 0));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("'w'"), std::string::npos) << status;

  GraphMaker make;
  const int x = make.Input("x", {kSize});
  make.Output(Pointwise(make, ScalarFunction::kMul, {x, State(make, "v", Filled({kSize}, 1))}));
  const auto other = Value(Executable::Compile(std::move(make).Build(), {}));
  EXPECT_NE(Session::Create(other, {.state = session->state()}).status().message().find("'v'"),
            std::string::npos);
}

// A reader of a state's old value cannot come after the update.
TEST_F(StateTest, ReadersBehindTheUpdateAreRefused) {
  GraphMaker make;
  const int x = make.Input("x", {kSize});
  const int w = State(make, "w", Filled({kSize}, 1));
  make.Add<AddUpdate>({1, 1, 0}, {w, x}, "update");
  make.Output(Pointwise(make, ScalarFunction::kMul, {x, w}, "late"));
  const absl::Status status = PlanGraph(std::move(make).Build(), {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find("late"), std::string::npos) << status;
}

TEST_F(StateTest, VerifyMeasuresItsPool) {
  const Measurement measured = Value(Measure(Accumulating(), {}, {{"x", ones_}}));
  EXPECT_TRUE(measured.ok);
  EXPECT_EQ(measured.state.planned_bytes, kSize * 4);
  EXPECT_EQ(measured.state.actual_bytes, kSize * 4);
  EXPECT_EQ(measured.heap.own_calls, 0);
  EXPECT_TRUE(Value(CheckGuards(Accumulating(), {}, {{"x", ones_}})).empty());
}

}  // namespace
}  // namespace ashlar::testing

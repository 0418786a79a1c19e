// State between runs: outputs that are inputs of the next run.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "library/state_links.h"
#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/subtensor.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/fed_back.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using F = ScalarFunction;

PlanRequest OneThread() {
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.comp_node = Value(CompNode::Parse("cpu0:0"));
  request.target.threads = 1;
  return request;
}

Model ModelOf(Graph graph) {
  Model model;
  model.graph = std::move(graph);
  return model;
}

Graph Stateful(Graph graph, const std::vector<StateLink>& links) {
  return Value(WithStates(ModelOf(std::move(graph)), links)).graph;
}

std::unique_ptr<Session> SessionOf(Graph graph, PlanRequest request = OneThread()) {
  return Value(Session::Create(Value(Executable::Compile(std::move(graph), request))));
}

// Returns whether the value that a state takes is computed in the state's storage.
bool IsMadeInPlace(const PlannedGraph& planned) {
  for (const OperatorNode& node : planned.graph.nodes()) {
    if (node.op->type() != "Assign") continue;
    const std::optional<Location> value = planned.Locate(node.inputs[0]);
    return value.has_value() && value->pool == Pool::kState;
  }
  ADD_FAILURE() << "no state takes a value";
  return false;
}

// h' = tanh(x W + h V), an Elman cell of `width`; y = h' * 2.
Graph Cell(const HostTensor& w, const HostTensor& v) {
  GraphMaker maker;
  const int64_t inputs = w.shape()[0], width = w.shape()[1];
  const int x = maker.Input("x", {1, inputs}), h = maker.Input("h", {1, width});
  const int of_x = maker.Add<MatrixMul>({}, {x, maker.Constant(w)}, "of_x");
  const int of_h = maker.Add<MatrixMul>({}, {h, maker.Constant(v)}, "of_h");
  const int sum = maker.Add<Elemwise>({F::kAdd}, {of_x, of_h}, "sum");
  const int next = maker.Add<Elemwise>({F::kTanh}, {sum}, "next");
  maker.Output(maker.Add<Elemwise>({F::kAdd}, {next, next}, "y"));
  maker.Output(next);
  return std::move(maker).Build();
}

// One step of the same in double precision; returns y.
std::vector<double> Step(const HostTensor& w, const HostTensor& v, const HostTensor& x,
                         std::vector<double>& h) {
  const int64_t width = w.shape()[1];
  std::vector<double> next, y;
  for (int64_t j = 0; j < width; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < w.shape()[0]; ++i) sum += x.At(i) * w.At(i * width + j);
    for (int64_t i = 0; i < width; ++i) sum += h[static_cast<size_t>(i)] * v.At(i * width + j);
    next.push_back(std::tanh(sum));
    y.push_back(2 * next.back());
  }
  h = next;
  return y;
}

TEST(StatesTest, ARecurrentCellFollowsItsUnrolledReference) {
  std::mt19937_64 random(2);
  const HostTensor w = RandomTensor(random, {5, 7}), v = RandomTensor(random, {7, 7});
  const auto session = SessionOf(Stateful(Cell(w, v), {{"next", "h"}}));
  const PlannedGraph& planned = session->executable().planned();
  EXPECT_EQ(planned.state.bytes, 7 * 4);
  EXPECT_TRUE(IsMadeInPlace(planned));
  ASSERT_EQ(planned.graph.inputs().size(), 1u);
  ASSERT_EQ(planned.graph.outputs().size(), 1u);
  for (int round = 0; round < 2; ++round) {  // the second one after a reset
    std::vector<double> h(7, 0.0);
    for (int step = 0; step < 20; ++step) {
      const InputTensors inputs = {{"x", RandomTensor(random, {1, 5})}};
      const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
      ASSERT_TRUE(IsOk(session->Run()));
      const std::vector<double> expected = Step(w, v, inputs.at("x"), h);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(outputs[0].At(static_cast<int64_t>(i)), expected[i], 1e-4) << step;
      }
    }
    const HostTensor state = Value(session->ReadState("h"));
    for (size_t i = 0; i < h.size(); ++i) {
      EXPECT_NEAR(state.At(static_cast<int64_t>(i)), h[i], 1e-4);
    }
    ASSERT_TRUE(IsOk(session->ResetStates()));
    EXPECT_EQ(Values(Value(session->ReadState("h"))), std::vector<double>(7, 0.0));
  }
}

// A cache of the last 4 rows: rows that are read in shifted order cannot be overwritten meanwhile.
TEST(StatesTest, AWindowIsCopiedAtTheEnd) {
  GraphMaker maker;
  const int x = maker.Input("x", {1, 3}), cache = maker.Input("cache", {4, 3});
  SubtensorParam rows{.axis = {0}, .begin = {1}, .end = {0}, .step = {0}, .idx = {0}};
  const int from = maker.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {1}));
  const int kept = maker.Add<Subtensor>(rows, {cache, from}, "kept");
  const int next = maker.Add<Concat>({0}, {kept, x}, "next");
  maker.Output(maker.Add<Elemwise>({F::kRelu}, {next}, "y"));
  maker.Output(next);
  const auto session = SessionOf(Stateful(std::move(maker).Build(), {{"next", "cache"}}));
  EXPECT_FALSE(IsMadeInPlace(session->executable().planned()));
  std::mt19937_64 random(4);
  std::vector<double> window(12, 0.0);
  for (int step = 0; step < 10; ++step) {
    const InputTensors inputs = {{"x", RandomTensor(random, {1, 3})}};
    const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
    ASSERT_TRUE(IsOk(session->Run()));
    window.erase(window.begin(), window.begin() + 3);
    for (const double value : Values(inputs.at("x"))) window.push_back(value);
    std::vector<double> expected;
    for (const double value : window) expected.push_back(std::max(value, 0.0));
    ASSERT_EQ(Values(outputs[0]), expected) << step;
    ASSERT_EQ(Values(Value(session->ReadState("cache"))), window);
  }
}

// A state that a later operator reads must keep its old value until then.
TEST(StatesTest, AValueThatIsReadLaterIsNotOverwritten) {
  GraphMaker maker;
  const int x = maker.Input("x", {8}), h = maker.Input("h", {8});
  const int next = maker.Add<Elemwise>({F::kAdd}, {x, h}, "next");
  const int square = maker.Add<Elemwise>({F::kMul}, {next, next}, "square");
  maker.Output(maker.Add<Elemwise>({F::kSub}, {square, h}, "y"));
  maker.Output(next);
  PlanRequest request = OneThread();
  request.planning.passes = "none";
  const auto session = SessionOf(Stateful(std::move(maker).Build(), {{"next", "h"}}), request);
  EXPECT_FALSE(IsMadeInPlace(session->executable().planned()));
  double old = 0;
  const HostTensor ones =
      HostTensor::FromValues<float>(DType::kFloat32, {8}, std::vector<float>(8, 1.0f));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, {{"x", ones}}));
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(IsOk(session->Run()));
    EXPECT_EQ(outputs[0].At(3), (old + 1) * (old + 1) - old);
    old += 1;
  }
}

// Graphs of random elementwise operators with several states, beside the same graph evaluated with
// its outputs as inputs: with all passes and none.
TEST(StatesTest, RandomModelsAgreeWithOutputsFedBack) {
  int in_place = 0, all = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    GraphMaker maker;
    std::vector<int> vars;
    const int num_states = 1 + static_cast<int>(random() % 3);
    vars.push_back(maker.Input("x", {4, 6}));
    for (int i = 0; i < num_states; ++i) {
      vars.push_back(maker.Input(absl::StrCat("s", i), {4, 6}));
    }
    const int operators = 3 + static_cast<int>(random() % 8);
    for (int i = 0; i < operators; ++i) {
      const auto any = [&] { return vars[random() % vars.size()]; };
      const std::string name = absl::StrCat("n", i);
      switch (random() % 4) {
        case 0:
          vars.push_back(maker.Add<Elemwise>({F::kTanh}, {any()}, name));
          break;
        case 1:
          vars.push_back(maker.Add<MatrixMul>(
              {}, {any(), maker.Constant(RandomTensor(random, {6, 6}))}, name));
          vars.push_back(maker.Add<Elemwise>({F::kSigmoid}, {vars.back()}, name + "s"));
          break;
        default:
          vars.push_back(
              maker.Add<Elemwise>({random() % 2 ? F::kMul : F::kMax}, {any(), any()}, name));
      }
    }
    std::vector<StateLink> links;
    const auto end = static_cast<int>(vars.size());
    for (int i = 0; i < num_states; ++i) {  // among the last vars, each another one
      const int var = vars[static_cast<size_t>(end - 1 - i)];
      maker.Output(var);
      links.push_back({maker.var(var).name, absl::StrCat("s", i)});
    }
    maker.Output(maker.Add<Elemwise>({F::kAdd}, {vars[random() % vars.size()], vars.back()}, "y"));
    const Graph graph = std::move(maker).Build();
    PlanRequest request = OneThread();
    if (seed % 2 == 1) request.planning.passes = "none";
    const auto session = SessionOf(Stateful(graph, links), request);
    for (const OperatorNode& node : session->executable().graph().nodes()) {
      if (node.op->type() != "Assign") continue;
      const auto at = session->executable().planned().Locate(node.inputs[0]);
      in_place += at.has_value() && at->pool == Pool::kState;
      ++all;
    }
    std::vector<std::pair<std::string, std::string>> feeds;
    for (const StateLink& link : links) feeds.emplace_back(link.output, link.input);
    FedBack reference(graph, feeds);
    for (int step = 0; step < 4; ++step) {
      const InputTensors inputs = {{"x", RandomTensor(random, {4, 6})}};
      const HostTensor expected = reference.Step("x", inputs.at("x")).at("y");
      const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
      ASSERT_TRUE(IsOk(session->Run()));
      const std::vector<double> y = Values(expected);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(outputs[0].At(static_cast<int64_t>(i)), y[i], 1e-3) << "step " << step;
      }
      for (const StateLink& link : links) {
        const HostTensor state = Value(session->ReadState(link.input));
        for (int64_t i = 0; i < state.num_elements(); ++i) {
          ASSERT_NEAR(state.At(i), reference.Next(link.input).At(i), 1e-3)
              << link.input << " step " << step;
        }
      }
    }
  }
  EXPECT_GT(in_place, all / 4);
  EXPECT_LT(in_place, all);
}

// s0 takes x, s1 takes s0 as it was: a delay line, whose order matters.
TEST(StatesTest, StatesMayFollowEachOther) {
  GraphMaker maker;
  const int x = maker.Input("x", {4});
  const int a = maker.Input("a", {4}), b = maker.Input("b", {4});
  const int sum = maker.Add<Elemwise>({F::kAdd}, {a, b}, "sum");
  maker.Output(maker.Add<Elemwise>({F::kAdd}, {sum, x}, "y"));
  for (const int var : {x, a}) maker.Output(var);
  const auto session = SessionOf(Stateful(std::move(maker).Build(), {{"x", "a"}, {"a", "b"}}));
  std::vector<double> past = {0, 0};
  for (int step = 1; step < 8; ++step) {
    const HostTensor x = HostTensor::FromValues<float>(
        DType::kFloat32, {4}, std::vector<float>(4, static_cast<float>(step)));
    const std::vector<HostTensor> outputs = Value(BindTensors(*session, {{"x", x}}));
    ASSERT_TRUE(IsOk(session->Run()));
    EXPECT_EQ(outputs[0].At(0), step + past[0] + past[1]);
    past = {static_cast<double>(step), past[0]};
  }
}

TEST(StatesTest, WrongLinksNameBothTensors) {
  GraphMaker maker;
  const int x = maker.Input("x", {1, 3}), h = maker.Input("h", {1, 4});
  maker.Output(maker.Add<Elemwise>({F::kTanh}, {x}, "y"));
  maker.Output(maker.Add<Elemwise>({F::kTanh}, {h}, "z"));
  const Graph graph = std::move(maker).Build();
  for (const auto& [links, told] : std::vector<std::pair<std::vector<StateLink>, std::string>>{
           {{{"y", "h"}}, "output 'y' is Float32{1,3}, and input 'h' is Float32{1,4}"},
           {{{"q", "h"}}, "no output 'q'; the model has: y, z"},
           {{{"z", "q"}}, "no input 'q'; the model has: x, h"},
           {{{"z", "h"}, {"z", "h"}}, "input 'h' is the state of two outputs"}}) {
    const absl::Status status = WithStates(ModelOf(graph), links).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(told));
  }
  for (const char* text : {"", "a", "=b", "a="}) EXPECT_FALSE(ParseStateLink(text).ok()) << text;
}

class StatesCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ASSERT_TRUE(IsOk(WriteModel(Cell(w_, v_), Path("cell.ash"))));
  }
  std::mt19937_64 random_{9};
  const HostTensor w_ = RandomTensor(random_, {5, 7}), v_ = RandomTensor(random_, {7, 7});
};

TEST_F(StatesCommandTest, RunsCarryStatesAndVerifyMeasuresThem) {
  const HostTensor x = RandomTensor(random_, {1, 5});
  ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
  const ProcessResult run =
      Ashlar("run cell.ash --state next=h --input x.npy --iterations 3 -o y.npz --threads 1");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<double> h(7, 0.0), y;
  for (int step = 0; step < 3; ++step) y = Step(w_, v_, x, h);
  const NamedTensors outputs = Value(ReadNpz(Path("y.npz")));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].first, "y");
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(outputs[0].second.At(static_cast<int64_t>(i)), y[i], 1e-4);
  }
  const ProcessResult verify = Ashlar("verify cell.ash --state next=h --threads 1 --json");
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_EQ(verify.Json()["pools"]["state"]["planned_bytes"], 28);
  EXPECT_EQ(verify.Json()["pools"]["state"]["actual_bytes"], 28);
  EXPECT_EQ(verify.Json()["heap"]["own_calls"], 0);
  EXPECT_EQ(verify.Json()["values"]["ok"], true);
  EXPECT_THAT(Ashlar("plan cell.ash --state next=h").out, HasSubstr("state"));
  EXPECT_THAT(Ashlar("inspect cell.ash --state next=h").out, HasSubstr("state h Float32{1,7}"));
  const nlohmann::json inspected = Ashlar("inspect cell.ash --state next=h --json").Json();
  EXPECT_EQ(inspected["states"].dump(), R"([{"dtype":"Float32","name":"h","shape":[1,7]}])");
  EXPECT_EQ(inspected["operators"]["Assign"], 1);
  EXPECT_EQ(inspected["weights_bytes"], 4 * (5 * 7 + 7 * 7));
}

// Several runs from one array, from files one after the other, and from the bytes of all.
TEST_F(StatesCommandTest, StepsRunOnOneInputAfterTheOther) {
  const int64_t count = 9;
  const HostTensor x = RandomTensor(random_, {count, 5});
  std::vector<double> h(7, 0.0), expected;
  std::string files;
  for (int64_t step = 0; step < count; ++step) {
    const auto* const from = x.data<float>().data() + 5 * step;
    const HostTensor frame =
        HostTensor::FromValues<float>(DType::kFloat32, {1, 5}, absl::MakeConstSpan(from, 5));
    const std::string name = absl::StrCat("x", step, ".npy");
    ASSERT_TRUE(IsOk(WriteNpy(frame, Path(name))));
    absl::StrAppend(&files, " --input x=", name);
    for (const double value : Step(w_, v_, frame, h)) expected.push_back(value);
  }
  ASSERT_TRUE(IsOk(WriteNpy(x, Path("rows.npy"))));
  ASSERT_TRUE(IsOk(WriteNpy(x.Reshaped({count, 1, 5}), Path("runs.npy"))));
  Write("x.bin", std::string(static_cast<const char*>(x.raw()), static_cast<size_t>(x.bytes())));
  for (const std::string& input :
       {std::string(" --input rows.npy"), std::string(" --input x=runs.npy"), files,
        std::string(" --input x.bin")}) {
    const ProcessResult run =
        Ashlar("run cell.ash --state next=h --steps -o y.npz --threads 1 --json --quiet" + input);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.Json()["iterations"], count);
    const NamedTensors outputs = Value(ReadNpz(Path("y.npz")));
    ASSERT_EQ(outputs[0].second.shape(), Shape({count, 1, 7}));
    EXPECT_TRUE(Near(outputs[0].second, expected, 1e-4)) << input;
  }
}

// An input of one run is read by all.
TEST_F(StatesCommandTest, StepsShareInputsOfOneRun) {
  GraphMaker make;
  const int x = make.Input("x", {2, 3}), rate = make.Input("rate", {});
  const int sum = make.Input("sum", {2, 3});
  const int next =
      make.Add<Elemwise>({F::kAdd}, {sum, make.Add<Elemwise>({F::kMul}, {x, rate})}, "next");
  make.Output(next);
  ASSERT_TRUE(IsOk(WriteModel(std::move(make).Build(), Path("sum.ash"))));
  const auto write = [&](const char* name, const Shape& shape, const std::vector<float>& values) {
    ASSERT_TRUE(
        IsOk(WriteNpy(HostTensor::FromValues<float>(DType::kFloat32, shape, values), Path(name))));
  };
  write("x.npy", {4, 3}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  write("one.npy", {}, {2});
  write("rates.npy", {2}, {2, 1});
  for (const auto& [rate_file, last] :
       std::vector<std::pair<std::string, double>>{{"one.npy", 132}, {"rates.npy", 72}}) {
    const ProcessResult run = Ashlar(
        "run sum.ash --state next=sum --steps --input x=x.npy -o y.npz --input rate=" + rate_file);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const HostTensor y = Value(ReadNpz(Path("y.npz")))[0].second;
    ASSERT_EQ(y.shape(), Shape({2, 2, 3}));
    EXPECT_EQ(y.At(5), 12);
    EXPECT_EQ(y.At(11), last);
  }
  write("three.npy", {3}, {1, 1, 1});
  write("odd.npy", {3, 3}, std::vector<float>(9, 1.0f));
  write("other.npy", {2, 4}, std::vector<float>(8, 1.0f));
  ExpectEndings(
      "run sum.ash --state next=sum --steps --input x=",
      {{"x.npy --input rate=three.npy", 6, "hold 2 runs of input 'x' and 3 of 'rate'"},
       {"odd.npy", 6, "the files hold Float32{3,3}, expected one or more runs of Float32{2,3}"},
       {"other.npy", 6, "expected one or more runs of Float32{2,3}"}});
  ExpectEndings("run sum.ash --state next=sum --steps ",
                {{"", 2, "--steps has no effect: no --input gives the runs"},
                 {"--input x=x.npy --iterations 2", 2, "--iterations"},
                 {"--input x=x.npy --shape x={2,4}x3", 2, "--shape declares several"}});
}

TEST_F(StatesCommandTest, AWrittenModelHasItsStates) {
  ASSERT_EQ(Ashlar("convert cell.ash --state next=h -o stateful.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("run stateful.ash --iterations 4 -o a.npz --threads 1").exit_code, 0);
  ASSERT_EQ(Ashlar("run cell.ash --state next=h --iterations 4 -o b.npz --threads 1").exit_code, 0);
  EXPECT_EQ(Values(Value(ReadNpz(Path("a.npz")))[0].second),
            Values(Value(ReadNpz(Path("b.npz")))[0].second));
}

// Found when a converted model had lost its states.
TEST_F(StatesCommandTest, StatesAreNotWrittenAsOnnx) {
  const ProcessResult result = Ashlar("convert cell.ash --state next=h -o lost.onnx");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("ONNX has no state between runs"));
}

TEST_F(StatesCommandTest, WrongLinksAreRefused) {
  for (const auto& [option, told] : std::vector<std::pair<std::string, std::string>>{
           {"--state next", "'next' is no OUTPUT=INPUT"},
           {"--state y=x", "output 'y' is Float32{1,7}, and input 'x' is Float32{1,5}"},
           {"--state z=h", "no output 'z'"}}) {
    const ProcessResult result = Ashlar("run cell.ash " + option);
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(told));
  }
}

}  // namespace
}  // namespace ashlar::testing

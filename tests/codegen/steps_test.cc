// Runs plans for generated C on this machine: each step must make the tensor of its operator.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "codegen/self_test.h"
#include "graph/evaluate.h"
#include "runtime/mcu/mcu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/run_values.h"
#include "serialization/onnx/import/reader.h"
#include "tests/support/kernel_request.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tools/zoo/zoo.h"

namespace ashlar::testing {
namespace {

// The values of a run, and the same steps by the operators' own evaluation in double precision.
class Evaluation {
 public:
  Evaluation(Graph graph, const InputTensors& inputs) : graph_(std::move(graph)) {
    for (const Binding& input : graph_.inputs()) values_[input.var] = inputs.at(input.name);
  }

  // Evaluates the producer of a var from the values of the run, so that rounding does not add up
  // from step to step.
  HostTensor Evaluate(int var) {
    const OperatorNode& node = graph_.node(graph_.var(var).producer);
    if (node.op->role() == Role::kConstant) return *node.constant;
    std::vector<HostTensor> operands;
    for (const int input : node.inputs) operands.push_back(Find(input));
    const std::vector<HostTensor> results =
        Value(EvaluateOperator(*node.op, operands, graph_.OutputTypes(node)));
    return results[static_cast<size_t>(graph_.var(var).output_index)];
  }
  void Set(int var, const HostTensor& value) { values_[var] = value; }

 private:
  // Evaluates vars that the run does not show, such as constants.
  const HostTensor& Find(int var) {
    const auto known = values_.find(var);
    return known != values_.end() ? known->second : values_[var] = Evaluate(var);
  }

  const Graph graph_;
  std::map<int, HostTensor> values_;
};

struct Net {
  const char *name, *path;
  const char* tiles = "";  // "least": found for the least memory
  bool release_input = false;
};

// Plans a graph for generated C, runs it, and compares the tensor of each step.
void ExpectSteps(Graph graph, const Net& net) {
  mcu::RegisterDevice();
  PlanRequest request;
  request.target.comp_node = mcu::kCompNode;
  request.target.release_input = net.release_input;
  if (net.tiles == std::string("least")) {
    request.target.budget = MemoryBudget{};
  } else if (net.tiles[0] != '\0') {
    request.target.tiles = Value(TileSpec::Parse(net.tiles));
  }
  auto planned = Value(PlanGraph(std::move(graph), request));
  InputTensors inputs;
  for (size_t i = 0; i < planned->graph.inputs().size(); ++i) {
    const Binding& input = planned->graph.inputs()[i];
    inputs[input.name] = SelfTestInput(planned->graph.var(input.var).type, static_cast<int>(i));
  }
  // Copy the graph before weights are packed: packing drops its constants.
  Evaluation evaluation(planned->graph, inputs);
  const auto executable = Value(Executable::FromPlan(std::move(planned)));
  const auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  int steps = 0;
  ASSERT_TRUE(IsOk(RunAndVisit(*session, [&](const Var& var, const HostTensor& value) {
    ++steps;
    const Var* const first = executable->graph().vars().data();
    const int index = static_cast<int>(&var - first);
    const HostTensor want = evaluation.Evaluate(index);
    evaluation.Set(index, value);
    if (IsFloat(var.type.dtype)) {
      EXPECT_LE(WorstError(value, want, -1, false), 5e-6) << var.name;
    } else {
      EXPECT_EQ(std::memcmp(value.raw(), want.raw(), static_cast<size_t>(want.bytes())), 0)
          << var.name;
    }
    return absl::OkStatus();
  })));
  EXPECT_GT(steps, 3);
}

class Steps : public ::testing::TestWithParam<Net> {};

INSTANTIATE_TEST_SUITE_P(
    Networks, Steps,
    ::testing::Values(Net{"ad", "tiny/ad.onnx"}, Net{"ic", "tiny/ic.onnx"},
                      Net{"ic_lines", "tiny/ic.onnx", "2-60:rolling32;60-66:lines2"},
                      Net{"kws", "tiny/kws.onnx"},
                      Net{"kws_ebb", "tiny/kws.onnx", "2-20:lines49;20-60:rolling25", true},
                      Net{"vww", "tiny/vww.onnx"}, Net{"u8", "digits/digits.u8.onnx"},
                      Net{"s8", "digits/digits.s8.onnx"}),
    [](const auto& net) { return std::string(net.param.name); });

TEST_P(Steps, HaveTheBitsOfTheirOperators) {
  const std::string file = std::string("data/int8/") + GetParam().path;
  if (!HasSharedData(file)) GTEST_SKIP() << "no ../shared/data/int8";
  ExpectSteps(Value(ReadOnnx(SharedData(file))), GetParam());
}

class FloatSteps : public ::testing::TestWithParam<Net> {};

INSTANTIATE_TEST_SUITE_P(Networks, FloatSteps,
                         ::testing::Values(Net{"mobilenet", "mobilenet_v2"},
                                           Net{"mobilenet_tiled", "mobilenet_v2", "least"},
                                           Net{"resnet", "resnet18"},
                                           Net{"squeezenet", "squeezenet"},
                                           Net{"chain", "tiling_chain", "least", true}),
                         [](const auto& net) { return std::string(net.param.name); });

TEST_P(FloatSteps, HaveTheValuesOfTheirOperators) {
  for (const ZooModel& model : ZooModels()) {
    if (std::string(model.name) != GetParam().path) continue;
    return ExpectSteps(Value(model.build({.image = 32})), GetParam());
  }
  FAIL() << "no such model";
}

TEST(SelfTestTest, ChecksumIsThatOfZlib) { EXPECT_EQ(Crc32("123456789", 9), 0xcbf43926u); }

}  // namespace
}  // namespace ashlar::testing

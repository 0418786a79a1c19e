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

namespace ashlar::testing {
namespace {

// Returns the value of every var, by the operators' own evaluation.
std::map<int, HostTensor> EvaluateAll(const Graph& graph, const InputTensors& inputs) {
  std::map<int, HostTensor> values;
  for (const Binding& input : graph.inputs()) values[input.var] = inputs.at(input.name);
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kInput || node.op->role() == Role::kOutput) continue;
    if (node.op->role() == Role::kConstant) {
      values[node.outputs[0]] = *node.constant;
      continue;
    }
    std::vector<HostTensor> operands;
    for (const int var : node.inputs) operands.push_back(values.at(var));
    const std::vector<HostTensor> results =
        Value(EvaluateOperator(*node.op, operands, graph.OutputTypes(node)));
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i]] = results[i];
  }
  return values;
}

struct Net {
  const char *name, *path;
  const char* tiles = "";
  bool release_input = false;
};

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
  mcu::RegisterDevice();
  const Net& net = GetParam();
  const std::string file = std::string("data/int8/") + net.path;
  if (!HasSharedData(file)) GTEST_SKIP() << "no ../shared/data/int8";
  Graph graph = Value(ReadOnnx(SharedData(file)));
  PlanRequest request;
  request.target.comp_node = mcu::kCompNode;
  request.target.release_input = net.release_input;
  if (net.tiles[0] != '\0') request.target.tiles = Value(TileSpec::Parse(net.tiles));
  auto planned = Value(PlanGraph(std::move(graph), request));
  InputTensors inputs;
  for (size_t i = 0; i < planned->graph.inputs().size(); ++i) {
    const Binding& input = planned->graph.inputs()[i];
    inputs[input.name] = SelfTestInput(planned->graph.var(input.var).type, static_cast<int>(i));
  }
  // Evaluate before weights are packed: packing drops the graph's own copy.
  const std::map<int, HostTensor> expected = EvaluateAll(planned->graph, inputs);
  const auto executable = Value(Executable::FromPlan(std::move(planned)));
  const auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  int steps = 0;
  ASSERT_TRUE(IsOk(RunAndVisit(*session, [&](const Var& var, const HostTensor& value) {
    ++steps;
    const Var* const first = executable->graph().vars().data();
    const HostTensor& want = expected.at(static_cast<int>(&var - first));
    if (IsFloat(var.type.dtype)) {
      EXPECT_LE(WorstError(value, want, -1, false), 2e-6) << var.name;
    } else {
      EXPECT_EQ(std::memcmp(value.raw(), want.raw(), static_cast<size_t>(want.bytes())), 0)
          << var.name;
    }
    return absl::OkStatus();
  })));
  EXPECT_GT(steps, 8);
}

TEST(SelfTestTest, ChecksumIsThatOfZlib) { EXPECT_EQ(Crc32("123456789", 9), 0xcbf43926u); }

}  // namespace
}  // namespace ashlar::testing

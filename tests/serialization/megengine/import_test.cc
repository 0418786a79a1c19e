#include "serialization/megengine/import.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/naming.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "tests/serialization/files.h"
#include "tests/serialization/graph_equality.h"
#include "tests/serialization/megengine/real_dump.h"

namespace ashlar {
namespace {

using testing::RealRecording;
using testing::Value;

TEST(MegEngineImport, KeepsIdsNamesAndShapes) {
  const ProfileRecording& recording = RealRecording();
  const Graph graph = Value(ImportGraph(recording));
  std::set<int> left_out;
  for (const auto& [id, op] : recording.operators) left_out.insert(id);
  for (const OperatorNode& node : graph.nodes()) {
    const DumpOperator& recorded = recording.operators.at(node.id);
    left_out.erase(node.id);
    EXPECT_EQ(node.name, recorded.name);
    EXPECT_EQ(std::string(node.op->type()), recorded.type);
    const size_t values = node.outputs.size();
    ASSERT_EQ(values + (node.recorded_workspace ? 1 : 0), recorded.outputs.size());
    if (node.recorded_workspace) {
      const DumpVar& workspace = recording.vars.at(recorded.outputs.back());
      EXPECT_EQ(node.recorded_workspace->id, recorded.outputs.back());
      EXPECT_EQ(Shape{node.recorded_workspace->bytes}, workspace.shape) << workspace.name;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Var& var = graph.var(node.outputs[i]);
      const DumpVar& recorded_var = recording.vars.at(recorded.outputs[i]);
      EXPECT_EQ(var.id, recorded.outputs[i]);
      EXPECT_EQ(var.name, recorded_var.name);
      if (recorded_var.shape.has_value()) {
        EXPECT_EQ(var.type.shape, *recorded_var.shape) << var.name;
      }
    }
  }
  EXPECT_EQ(left_out, std::set<int>{55});  // the marker h2d[55]
  ASSERT_EQ(graph.inputs().size(), 1);
  EXPECT_EQ(graph.inputs()[0].name, "data");
  EXPECT_EQ(graph.var(graph.inputs()[0].var).type.ToString(), "Float32{10,3,224,224}");
  ASSERT_EQ(graph.outputs().size(), 1);
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.ToString(), "Float32{10,1000}");
}

// MegEngine's automatic names, generated again. Its rewrites swapped the inputs of two operators.
TEST(MegEngineImport, NamesAreThoseThatWouldBeGiven) {
  const Graph graph = Value(ImportGraph(RealRecording()));
  std::set<int> named_otherwise;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kInput) continue;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->input_use(static_cast<int>(i)) == InputUse::kHostValue) continue;
      inputs.push_back(graph.var(node.inputs[i]).name);
    }
    if (AutomaticName(*node.op, inputs, node.id) != node.name) named_otherwise.insert(node.id);
  }
  EXPECT_EQ(named_otherwise, (std::set<int>{690, 795}));
}

TEST(MegEngineImport, NativeFileKeepsRecordedWorkspaces) {
  const Graph graph = Value(ImportGraph(RealRecording()));
  const testing::TempDir folder;
  ASSERT_TRUE(testing::IsOk(WriteModel(graph, folder / "m.ash")));
  const Graph again = Value(ReadModel(folder / "m.ash"));
  testing::ExpectSameGraph(again, graph);
  int64_t total = 0, largest = 0;
  int workspaces = 0;
  for (const OperatorNode& node : again.nodes()) {
    if (!node.recorded_workspace) continue;
    ++workspaces;
    total += node.recorded_workspace->bytes;
    largest = std::max(largest, node.recorded_workspace->bytes);
  }
  EXPECT_EQ(workspaces, 58);
  EXPECT_EQ(total, 91683840);
  EXPECT_EQ(largest, 26216960);
}

TEST(MegEngineImport, SeedDecidesTheWeights) {
  const auto first_weight = [](uint64_t seed) {
    const Graph graph = Value(ImportGraph(RealRecording(), {.seed = seed}));
    for (const Var& var : graph.vars()) {
      const HostTensor* value = graph.constant(var.output_index == 0 ? &var - &graph.vars()[0] : 0);
      if (value != nullptr && value->shape().rank() == 4) return value->At(0);
    }
    return 0.0;
  };
  EXPECT_EQ(first_weight(1), first_weight(1));
  EXPECT_NE(first_weight(1), first_weight(2));
}

}  // namespace
}  // namespace ashlar

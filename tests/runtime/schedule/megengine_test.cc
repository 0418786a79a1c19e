#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/graph_builder.h"
#include "runtime/schedule/scheduler.h"
#include "tests/runtime/schedule/graph_of_bytes.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

std::vector<int> Ids(const TestCase& c, const std::vector<int>& order) {
  std::vector<int> ids;
  for (int node : order) ids.push_back(c.graph.node(node).id);
  return ids;
}

GraphBuilder::NodeOptions Options(int id, int priority = 0) {
  GraphBuilder::NodeOptions options;
  options.id = id;
  options.priority = priority;
  return options;
}

TEST(ScheduleMegEngine, PriorityThenRecencyThenLargerId) {
  TestGraph g;
  const int x = g.Add({.role = Role::kInput, .output_bytes = {1}}, {}, Options(0));
  const int a = g.Add({.output_bytes = {1}}, {x}, Options(10));
  const int b = g.Add({.output_bytes = {1}}, {x}, Options(20));
  const int late = g.Add({.output_bytes = {1}}, {x}, Options(30, /*priority=*/1));
  const int after_b = g.Add({.output_bytes = {1}}, {b}, Options(5));
  const int end = g.Add({.output_bytes = {1}}, {a, after_b, late}, Options(40));
  g.Add({.role = Role::kOutput, .output_bytes = {0}}, {end}, Options(50));
  const TestCase c = std::move(g).Build();
  const Schedule schedule = ScheduleMegEngine(c.graph, c.model, c.workspace);
  EXPECT_THAT(Ids(c, schedule.order), ::testing::ElementsAre(0, 20, 5, 10, 30, 40, 50));
  EXPECT_THAT(schedule.input_update_time, ::testing::ElementsAre(0, 1, 2, 1, 1, 5, 6));
}

// Adds the operators of the dump by id, as far as inputs allow.
TEST(ScheduleMegEngine, ReproducesADumpedSequence) {
  const std::string path = "data/megengine-resnet50-b10.profile.json";
  const nlohmann::json dump = nlohmann::json::parse(std::ifstream(SharedData(path)))["graph_exec"];
  std::vector<int> expected_ids;
  std::vector<int> expected_times;
  std::set<int> pending;
  for (const auto& id : dump["comp_seq"]) {
    expected_ids.push_back(std::stoi(id.get<std::string>()));
    pending.insert(expected_ids.back());
    expected_times.push_back(dump["operator"][id.get<std::string>()]["extra"]["input_update_time"]);
  }
  ASSERT_EQ(expected_ids.size(), 234);

  TestGraph g;
  std::map<std::string, int> vars;     // id of a var to its index
  std::set<std::string> made_in_time;  // vars whose producers are in the sequence
  for (int id : pending) {
    for (const auto& var : dump["operator"][std::to_string(id)]["output"]) made_in_time.insert(var);
  }
  while (!pending.empty()) {
    for (auto it = pending.begin(); it != pending.end();) {
      const auto& op = dump["operator"][std::to_string(*it)];
      std::vector<int> inputs;
      bool ready = true;
      for (const std::string var : op["input"]) {
        if (!made_in_time.contains(var)) continue;
        ready = ready && vars.contains(var);
        if (ready) inputs.push_back(vars[var]);
      }
      if (!ready) {
        ++it;
        continue;
      }
      const std::string type = op["type"];
      TestNode node;
      if (type == "InputCallback") node.role = Role::kInput;
      if (type == "ImmutableTensor") node.role = Role::kConstant;
      if (type == "OutputCallback") node.role = Role::kOutput;
      GraphBuilder::NodeOptions options = Options(*it, op["extra"]["priority"]);
      for (const std::string var : op["output"]) {
        node.output_bytes.push_back(1);
        options.output_ids.push_back(std::stoi(var));
      }
      const int first = g.Add(node, inputs, options);
      for (size_t i = 0; i < op["output"].size(); ++i)
        vars[op["output"][i]] = first + static_cast<int>(i);
      it = pending.erase(it);
    }
  }
  const TestCase c = std::move(g).Build();
  const Schedule schedule = ScheduleMegEngine(c.graph, c.model, c.workspace);
  EXPECT_EQ(Ids(c, schedule.order), expected_ids);
  EXPECT_EQ(schedule.input_update_time, expected_times);
}

}  // namespace
}  // namespace ashlar::testing

// The keys that MegEngine's tools read from a dump: each test walks a dump as one of the tools
// does.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "serialization/json_reader.h"
#include "serialization/megengine/static_memory_info.h"
#include "tests/serialization/files.h"
#include "tests/serialization/megengine/small_dump.h"

namespace ashlar {
namespace {

using testing::SmallDump;
using Json = nlohmann::json;

bool AllTexts(const Json& object) {
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return false;
  }
  return true;
}

TEST(MegEngineConsumers, ProfileAnalyze) {
  const Json& dump = SmallDump();
  const Json& exec = dump.at("graph_exec");
  for (const auto& [id, op] : exec.at("operator").items()) {
    EXPECT_EQ(op.at("id"), id);
    EXPECT_TRUE(op.at("name").is_string());
    EXPECT_TRUE(op.at("type").is_string());
    for (const char* side : {"input", "output"}) {
      for (const auto& var : op.at(side)) {
        EXPECT_TRUE(exec.at("var").contains(var.get<std::string>())) << side << " of " << id;
      }
    }
  }
  double total = 0;
  for (const char* where : {"device", "host"}) {
    for (const auto& [id, places] : dump.at("profiler").at(where).items()) {
      ASSERT_TRUE(exec.at("operator").contains(id));
      for (const auto& [place, time] : places.items()) {
        EXPECT_LE(time.at("start").get<double>(), time.at("kern").get<double>());
        EXPECT_LE(time.at("kern").get<double>(), time.at("end").get<double>());
        total += time.at("end").get<double>() - time.at("start").get<double>();
      }
    }
  }
  EXPECT_GT(total, 0);
  for (const auto& [id, footprint] : dump.at("profiler").at("opr_footprint").items()) {
    EXPECT_TRUE(footprint.at("memory").is_number_integer());
    const Json& computation = footprint.at("computation");
    EXPECT_TRUE(computation.is_null() || computation.get<int64_t>() > 0);
    EXPECT_TRUE(footprint.at("in_shapes").is_array());
    EXPECT_TRUE(footprint.at("out_shapes").is_array());
    EXPECT_TRUE(exec.at("operator").contains(id));
  }
  // The tool takes any dump that contains this word for an OpenCL device's.
  EXPECT_EQ(dump.dump().find("opencl"), std::string::npos);
}

TEST(MegEngineConsumers, DevicesRunInOrder) {
  const Json& dump = SmallDump();
  double now = 0;
  for (const auto& id : dump.at("graph_exec").at("comp_seq")) {
    const Json& times = dump.at("profiler").at("device").at(id.get<std::string>());
    ASSERT_EQ(times.size(), 1);
    EXPECT_GE(times.begin()->at("start").get<double>(), now);
    now = times.begin()->at("end").get<double>();
  }
}

// Nodes are operators and arrows are their inputs, labelled with the planned shapes.
TEST(MegEngineConsumers, DrawGraph) {
  const Json& exec = SmallDump().at("graph_exec");
  int nodes = 0, edges = 0, shapes = 0;
  for (const auto& [id, op] : exec.at("operator").items()) {
    if (op.at("type") == "ImmutableTensor") continue;
    ++nodes;
    for (const auto& input : op.at("input")) {
      const Json& var = exec.at("var").at(input.get<std::string>());
      ++edges;
      if (var.at("mem_plan").is_null()) continue;
      ++shapes;
      EXPECT_TRUE(var.at("mem_plan").at("layout").at("shape").is_array());
      EXPECT_TRUE(var.at("mem_plan").at("layout").at("dtype").is_string());
    }
  }
  EXPECT_EQ(nodes, 6);
  EXPECT_EQ(edges, 7);
  EXPECT_GE(shapes, 5);
}

TEST(MegEngineConsumers, GraphInfoAnalyze) {
  const std::unique_ptr<PlannedGraph> planned = testing::PlanAsRecorded(testing::SmallGraph());
  const testing::TempDir folder;
  ASSERT_TRUE(testing::IsOk(
      WriteStaticMemoryInfo(*planned, testing::SmallRecord(*planned), folder / "tensor/board")));
  const Json graph = testing::Value(ReadJsonFile(folder / "tensor/board/graph.json"));
  EXPECT_EQ(graph, SmallDump().at("graph_exec"));

  const Json info = testing::Value(ReadJsonFile(folder / "tensor/board/StaticMemoryInfo.json"));
  const size_t steps = planned->schedule.order.size();
  ASSERT_EQ(info.at("opr").size(), steps);
  for (size_t step = 0; step < steps; ++step) {
    const Json& op = info.at("opr").at(std::to_string(step));
    EXPECT_EQ(op.at("id"), std::to_string(step));
    EXPECT_EQ(op.at("name"), planned->graph.node(planned->schedule.order[step]).name);
  }
  const auto number = [](const Json& chunk, const char* key) {
    return std::stoll(chunk.at(key).get<std::string>());
  };
  int64_t peak = 0, weights = 0;
  std::vector<int64_t> usage(steps, 0);
  for (const auto& [id, chunk] : info.at("chunk").items()) {
    EXPECT_TRUE(AllTexts(chunk));
    EXPECT_EQ(chunk.at("id"), id);
    const int64_t size = number(chunk, "logic_addr_end") - number(chunk, "logic_addr_begin");
    if (chunk.at("type") == "weight_mem") {
      weights += size;
      EXPECT_GE(number(chunk, "logic_addr_begin"), planned->plan.plan.arena);
      continue;
    }
    EXPECT_EQ(chunk.at("type"), "static_mem");
    peak = std::max<int64_t>(peak, number(chunk, "logic_addr_end"));
    const bool overwriter = chunk.at("overwrite_dest_id") != "-1";
    if (overwriter) {
      EXPECT_TRUE(info.at("chunk").contains(chunk.at("overwrite_dest_id").get<std::string>()));
    }
    ASSERT_LE(number(chunk, "time_end"), static_cast<int64_t>(steps));
    for (int64_t t = number(chunk, "time_begin") + overwriter; t < number(chunk, "time_end"); ++t) {
      usage[t] += size;
    }
  }
  EXPECT_EQ(peak, planned->plan.plan.arena);
  EXPECT_GT(weights, 0);
  EXPECT_LE(*std::max_element(usage.begin(), usage.end()), planned->plan.lower_bound);
  EXPECT_GT(*std::max_element(usage.begin(), usage.end()), 0);
}

// The tools look keys up by name; the keys they know stand beside ours.
TEST(MegEngineConsumers, MemoryReportIsAKeyOfItsOwn) {
  std::set<std::string> keys;
  for (const auto& [key, value] : SmallDump().items()) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string>{"graph_exec", "profiler", "memory_report"}));
}

}  // namespace
}  // namespace ashlar

#include "serialization/megengine/profile_dump.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "serialization/json_file.h"
#include "serialization/json_reader.h"
#include "serialization/megengine/import.h"
#include "tests/serialization/files.h"
#include "tests/serialization/megengine/real_dump.h"
#include "tests/serialization/megengine/small_dump.h"
#include "tests/support/json_schema.h"
#include "tests/support/shared_data.h"

namespace ashlar {
namespace {

using testing::RealRecording;
using testing::Value;

// Compares two objects of objects by id. For each field ("var.flag") that differs, adds the ids. An
// object without a counterpart counts under the name of the kind.
void CollectDifferences(const nlohmann::json& a, const nlohmann::json& b, const std::string& kind,
                        std::map<std::string, std::set<std::string>>& ids_by_field) {
  const std::function<void(const nlohmann::json&, const nlohmann::json&, const std::string&,
                           const std::string&)>
      collect = [&](const nlohmann::json& x, const nlohmann::json& y, const std::string& field,
                    const std::string& id) {
        if (!x.is_object() || !y.is_object()) {
          if (x != y) ids_by_field[field].insert(id);
          return;
        }
        std::set<std::string> keys;
        for (const auto& [key, value] : x.items()) keys.insert(key);
        for (const auto& [key, value] : y.items()) keys.insert(key);
        for (const std::string& key : keys) {
          collect(x.contains(key) ? x[key] : nlohmann::json("no such key"),
                  y.contains(key) ? y[key] : nlohmann::json("no such key "),
                  absl::StrCat(field, ".", key), id);
        }
      };
  std::set<std::string> ids;
  for (const auto& [id, item] : a.items()) ids.insert(id);
  for (const auto& [id, item] : b.items()) ids.insert(id);
  for (const std::string& id : ids) {
    if (a.contains(id) && b.contains(id)) {
      collect(a[id], b[id], kind, id);
    } else {
      ids_by_field[kind].insert(id);
    }
  }
}

nlohmann::json Without(const nlohmann::json& list, const nlohmann::json& element) {
  nlohmann::json rest = nlohmann::json::array();
  for (const auto& item : list) {
    if (item != element) rest.push_back(item);
  }
  return rest;
}

// Returns options with the recorded workspaces and CUDA's alignment.
PlanRequest RecordedOptions(bool inplace) {
  PlanRequest request;
  request.planning.workspace = WorkspaceSource::kRecorded;
  request.debug.alignment = 512;
  request.planning.inplace = inplace;
  return request;
}

class RealDump : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* const documents = [] {
      auto* pair = new std::pair<nlohmann::json, nlohmann::json>();
      pair->first = Value(ReadJsonFile(testing::SharedData(testing::kRealDump)));
      const std::unique_ptr<PlannedGraph> planned =
          testing::PlanAsRecorded(Value(ImportGraph(RealRecording())), RecordedOptions(true));
      pair->second = nlohmann::json::parse(
          JsonText(ProfileDump(*planned, testing::SmallRecord(*planned)), -1));
      return pair;
    }();
    recorded_ = &documents->first;
    ours_ = &documents->second;
  }

  const nlohmann::json* recorded_ = nullptr;
  const nlohmann::json* ours_ = nullptr;
};

TEST_F(RealDump, SameOrder) {
  const nlohmann::json& recorded = (*recorded_)["graph_exec"];
  const nlohmann::json& ours = (*ours_)["graph_exec"];
  EXPECT_EQ(recorded["comp_seq"].size(), 234);
  EXPECT_EQ(ours["comp_seq"], recorded["comp_seq"]);
  for (const auto& id : recorded["comp_seq"]) {
    for (const char* key : {"input_update_time", "priority"}) {
      const std::string operator_id = id;
      EXPECT_EQ(ours["operator"][operator_id]["extra"][key],
                recorded["operator"][operator_id]["extra"][key]);
    }
  }
}

TEST_F(RealDump, SameFootprints) {
  const nlohmann::json& recorded = (*recorded_)["profiler"]["opr_footprint"];
  EXPECT_EQ(recorded.size(), 234);
  EXPECT_EQ((*ours_)["profiler"]["opr_footprint"], recorded);
}

// The complete list of differences in the graph; docs/megengine.md gives the reasons.
TEST_F(RealDump, GraphDiffersOnlyWherePlanningIsStatic) {
  std::map<std::string, std::set<std::string>> ids_by_field;
  const nlohmann::json& recorded = (*recorded_)["graph_exec"];
  const nlohmann::json& ours = (*ours_)["graph_exec"];
  for (const char* kind : {"operator", "var"}) {
    CollectDifferences(recorded[kind], ours[kind], kind, ids_by_field);
  }
  std::set<std::string> fields;
  for (const auto& [field, ids] : ids_by_field) fields.insert(field);
  EXPECT_EQ(fields, (std::set<std::string>{
                        "operator",  // 55, the marker
                        "var",       // 56, the marker's
                        "var.comp_node",
                        "var.dev_ptr",
                        "var.flag",
                        "var.mem_plan",
                        "var.prev_dev_ptr",
                        "var.prev_dev_ptr_end",
                        "var.static_infer_tags.SHAPE.deps",
                        "var.static_infer_tags.SHAPE.infer_type",
                        "var.static_infer_tags.SHAPE.inferred_result",
                        "var.static_infer_tags.VALUE.infer_type",
                    }));
  using Ids = std::set<std::string>;
  EXPECT_EQ(ids_by_field["operator"], Ids{"55"});
  EXPECT_EQ(ids_by_field["var"], Ids{"56"});
  EXPECT_EQ(ids_by_field["var.static_infer_tags.SHAPE.inferred_result"], (Ids{"537", "538"}));
  EXPECT_EQ(ids_by_field["var.static_infer_tags.VALUE.infer_type"], (Ids{"835", "837", "839"}));
}

TEST_F(RealDump, VarsDifferInWhatPlanningStaticallyChanges) {
  int checked = 0;
  for (const auto& [id, ours] : (*ours_)["graph_exec"]["var"].items()) {
    SCOPED_TRACE(id);
    const nlohmann::json& recorded = (*recorded_)["graph_exec"]["var"][id];
    EXPECT_EQ(ours["flag"], Without(recorded["flag"], "RT_FORCE_DYNAMIC_MEM_ALLOC"));
    const nlohmann::json& shape = ours["static_infer_tags"]["SHAPE"];
    const nlohmann::json& recorded_shape = recorded["static_infer_tags"]["SHAPE"];
    EXPECT_EQ(shape["deps"],
              Without(recorded_shape["deps"], {{"var", "56"}, {"dep_type", "VALUE"}}));
    if (shape["infer_type"] != recorded_shape["infer_type"]) {
      EXPECT_EQ(shape["infer_type"], "CONST");
    }
    // Memory that the recorded run freed still has a place in a static plan.
    if (!recorded["mem_plan"].is_null()) {
      EXPECT_EQ(ours["mem_plan"], recorded["mem_plan"]);
    }
    ++checked;
  }
  EXPECT_EQ(checked, 298);
}

// A depth-first numbering: all of 0 .. 233, with inputs before their readers.
TEST_F(RealDump, DepthFirstNumbersAreValid) {
  const nlohmann::json& exec = (*ours_)["graph_exec"];
  std::map<std::string, int> number_by_var;
  std::set<int> numbers;
  for (const auto& [id, op] : exec["operator"].items()) {
    if (op["extra"].empty()) continue;
    const int number = op["extra"]["dfs_step_num"];
    numbers.insert(number);
    for (const auto& output : op["output"]) number_by_var[output] = number;
  }
  EXPECT_EQ(numbers.size(), 234);
  EXPECT_EQ(*numbers.rbegin(), 233);
  for (const auto& [id, op] : exec["operator"].items()) {
    if (op["extra"].empty()) continue;
    for (const auto& input : op["input"]) {
      const auto producer = number_by_var.find(input);
      if (producer == number_by_var.end()) continue;
      EXPECT_LT(producer->second, op["extra"]["dfs_step_num"].get<int>()) << id;
    }
  }
}

TEST_F(RealDump, ReadsBackAsTheSameGraph) {
  const ProfileRecording again = Value(ParseProfileDump(ours_->dump()));
  EXPECT_EQ(again.comp_seq, RealRecording().comp_seq);
}

int Validate(const std::string& path) {
  return testing::ValidateJson("serialization/megengine/profile_dump.schema.json", {path});
}

void ExpectValid(const std::string& path) {
  const int code = Validate(path);
  if (code == testing::kNoValidator) GTEST_SKIP() << "needs Debian's python3-jsonschema";
  EXPECT_EQ(code, 0);
}

TEST(ProfileDumpSchema, RealDumpIsValid) { ExpectValid(testing::SharedData(testing::kRealDump)); }

TEST(ProfileDumpSchema, OursIsValid) {
  const testing::TempDir folder;
  testing::WriteWholeFile(folder / "dump.json", testing::SmallDump().dump());
  ExpectValid(folder / "dump.json");
}

TEST(ProfileDumpSchema, OursOfTheRealGraphIsValid) {
  const testing::TempDir folder;
  const std::unique_ptr<PlannedGraph> planned =
      testing::PlanAsRecorded(Value(ImportGraph(RealRecording())));
  const ProfileRecord record = testing::SmallRecord(*planned);
  ASSERT_TRUE(testing::IsOk(WriteJsonFile(folder / "d.json", ProfileDump(*planned, record), -1)));
  ExpectValid(folder / "d.json");
}

TEST(ProfileDumpSchema, ChangesAreNot) {
  const testing::TempDir folder;
  for (const char* pointer : {"/graph_exec/var/6/flag", "/graph_exec/operator/5/waiting_spec",
                              "/profiler/opr_footprint/5/computation", "/profiler/host"}) {
    SCOPED_TRACE(pointer);
    nlohmann::json dump = testing::SmallDump();
    dump[nlohmann::json::json_pointer(pointer)] = "?";
    testing::WriteWholeFile(folder / "dump.json", dump.dump());
    const int code = Validate(folder / "dump.json");
    if (code == testing::kNoValidator) GTEST_SKIP() << "needs Debian's python3-jsonschema";
    EXPECT_EQ(code, 1);
  }
}

TEST(ProfileDump, PlansTheRecordedProblem) {
  for (const bool inplace : {false, true}) {
    SCOPED_TRACE(inplace);
    const std::unique_ptr<PlannedGraph> planned =
        testing::PlanAsRecorded(Value(ImportGraph(RealRecording())), RecordedOptions(inplace));
    const int64_t expected = inplace ? 72272896 : 96337920;
    EXPECT_EQ(planned->plan.lower_bound, expected);
    EXPECT_EQ(planned->plan.plan.arena, expected);
    EXPECT_EQ(planned->plan.proof, memory::Proof::kOptimal);
  }
}

}  // namespace
}  // namespace ashlar

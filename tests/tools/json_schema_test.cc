// Validates the documents of all commands against docs/json.schema.json.
#include "tests/support/json_schema.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tools/command.h"

namespace ashlar::testing {
namespace {

constexpr char kSchema[] = "docs/json.schema.json";

class JsonSchemaTest : public CommandTest {};

// Regression: the documents were not described, and commands used several names for one thing.
TEST_F(JsonSchemaTest, EveryCommandWritesWhatIsDocumentedAndNothingElse) {
  Write("buffers.csv", "id,lower,upper,size\na,0,2,10\nb,1,3,20\nc,2,4,10\n");
  Write("damaged.ash", Read("model.ash").substr(0, 500));
  ASSERT_EQ(Ashlar("profile model.ash --dump run.json --passes none -q").exit_code, 0);
  ASSERT_EQ(Ashlar("convert model.ash -o packed.ash --pack").exit_code, 0);
  ASSERT_EQ(Ashlar("run model.ash --seed 1 -o other.npz").exit_code, 0);
  ASSERT_TRUE(IsOk(WriteNpz({{"images", HostTensor::Zeros(DType::kUint8, {4, 3, 16, 16})},
                             {"labels", HostTensor::Zeros(DType::kInt32, {4})}},
                            Path("data.npz"))));
  GraphMaker make;
  const int rows = make.Input("rows", {2, 6}), sum = make.Input("sum", {2, 6});
  const int next = make.Add<Elemwise>({ScalarFunction::kAdd}, {rows, sum}, "next");
  make.Output(make.Add<Elemwise>({ScalarFunction::kAbs}, {next}, "y"));
  make.Output(next);
  ASSERT_TRUE(IsOk(WriteModel(std::move(make).Build(), Path("sums.ash"))));
  ASSERT_TRUE(
      IsOk(WriteNpz({{"rows", HostTensor::Zeros(DType::kFloat32, {8, 6})}}, Path("rows.npz"))));
  const struct {
    const char* arguments;
    int exit_code = 0;
  } cases[] = {
      {"run model.ash --top 2"},
      {"run sums.ash --state next=sum --steps --input rows.npz"},
      {"inspect sums.ash --state next=sum"},
      {"verify sums.ash --state next=sum"},
      {"compile sums.ash --state next=sum -o sums"},
      {"compare sums.ash --state next=sum --metric boxes:0.5"},
      {"run model.ash --memory-budget 64 --plan-time 20ms", 3},
      {"run damaged.ash", 6},
      {"bench model.ash --iterations 2 --warmup 0 --percentile 50,99.9"},
      {"profile model.ash"},
      {"profile model.ash --by op --top 1"},
      {"tune model.ash --duration 100ms --kernels k.json"},
      {"plan model.ash --compare naive,auto --processor avx512/32K/1M --exact"},
      {"plan model.ash --memory-budget min --plan-time 20ms"},
      {"plan model.ash --memory-budget 64 --plan-time 20ms", 3},
      {"plan model.ash --total-budget 1GB"},
      {"plan model.ash --total-budget 1000 --plan-time 20ms", 3},
      {"plan packed.ash"},
      {"plan packed.ash --weights-budget 1MB"},
      {"plan buffers.csv --compare best_fit"},
      {"plan buffers.csv --capacity 1", 3},
      {"plan model.ash --buffers"},
      {"plan model.ash --buffers --memory-budget min --plan-time 20ms"},
      {"plan buffers.csv --buffers"},
      {"plan model.ash --frontier --plan-time 20ms"},
      {"plan model.ash model.ash --share-arena"},
      {"plan model.ash --shape data=1..2x3x16x16"},
      {"verify model.ash --shape data=1..2x3x16x16"},
      {"verify model.ash"},
      {"verify model.ash --train"},
      {"plan model.ash --train --optimizer adam"},
      {"plan model.ash --train --memory-budget min"},
      {"plan model.ash --train --frontier"},
      {"train model.ash --data data.npz --validate data.npz -o trained.ash"},
      {"profile model.ash --train"},
      {"bench model.ash --train --iterations 2 --warmup 0"},
      {"probe --op relu --memory-limit 1MiB"},
      {"probe --op relu --memory-limit 1MiB --forward --understate 64", 4},
      {"verify model.ash --understate 64", 4},
      {"compare model.ash --layers all"},
      {"compare model.ash --ref other.npz", 5},
      {"compare model.ash packed.ash"},
      {"compare run.json run.json"},
      {"inspect model.ash --nodes"},
      {"inspect packed.ash"},
      {"inspect run.json"},
      {"convert model.ash -o copy.ash"},
      {"convert model.ash -o again.ash --pack"},
      {"plan model.ash --int8-twin"},
      {"fit model.ash --ram 1GB"},
      {"fit model.ash --ram 1KB --flash 1KB", 3},
      {"quantize model.ash --calibrate data.npz -o int8.ash --keep-worst 1 --bias-correction"},
      {"quantize model.ash --calibrate data.npz -o bytes.ash"},
      {"compile bytes.ash -o program"},
      {"zoo squeezenet --image 64 -o s.ash"},
      {"demo --image 64"},
      {"ops"},
      {"ops --onnx"},
      {"doctor"},
  };
  std::vector<std::string> documents;
  std::set<std::string> commands;
  for (const auto& test : cases) {
    const std::string file = absl::StrCat("document", documents.size(), ".json");
    const ProcessResult result = Ashlar(absl::StrCat(test.arguments, " --json=", file));
    EXPECT_EQ(result.exit_code, test.exit_code) << test.arguments << "\n" << result.err;
    documents.push_back(Path(file));
    commands.insert(nlohmann::json::parse(Read(file))["command"]);
  }
  EXPECT_EQ(commands.size(), Commands().size());
  const int code = ValidateJson(kSchema, documents, /*closed=*/true);
  if (code == kNoValidator) GTEST_SKIP() << "needs Debian's python3-jsonschema";
  EXPECT_EQ(code, 0);
}

TEST_F(JsonSchemaTest, OtherDocumentsAreNotWhatIsDocumented) {
  const nlohmann::json document = Ashlar("plan model.ash --json").Json();
  const nlohmann::json changes[] = {{{"arena_bytes", "1.2 MiB"}},
                                    {{"command", "fly"}},
                                    {{"threads", nullptr}},
                                    {{"pools", nlohmann::json::object()}}};
  Write("more.json", [&] {
    nlohmann::json more = document;
    more["later"] = 1;  // keys may be added
    return more.dump();
  }());
  const int code = ValidateJson(kSchema, {Path("more.json")});
  if (code == kNoValidator) GTEST_SKIP() << "needs Debian's python3-jsonschema";
  EXPECT_EQ(code, 0);
  for (const nlohmann::json& change : changes) {
    nlohmann::json changed = document;
    changed.update(change);
    Write("changed.json", changed.dump());
    EXPECT_EQ(ValidateJson(kSchema, {Path("changed.json")}), 1) << change;
  }
}

// Chunks have the same places as in the picture and the CSV.
TEST_F(JsonSchemaTest, ChunksHaveNamesAndOffsets) {
  const nlohmann::json document = Ashlar("plan model.ash --threads 1 --json").Json();
  int64_t highest = 0;
  int workspaces = 0;
  for (const nlohmann::json& chunk : document["chunks"]) {
    highest = std::max(highest,
                       chunk["offset_bytes"].get<int64_t>() + chunk["size_bytes"].get<int64_t>());
    EXPECT_LT(chunk["first_step"], chunk["end_step"]);
    EXPECT_FALSE(chunk["name"].get<std::string>().empty());
    workspaces += chunk["kind"] == "workspace";
    for (const nlohmann::json& outer : chunk["inside"]) {
      const nlohmann::json& other = document["chunks"][outer.get<size_t>()];
      EXPECT_LE(other["offset_bytes"], chunk["offset_bytes"]);
    }
  }
  EXPECT_EQ(highest, document["arena_bytes"]);
  EXPECT_EQ(workspaces, static_cast<int>(document["workspaces"].size()));
  EXPECT_EQ(document["arena_bytes"], document["pools"]["arena"]["planned_bytes"]);
}

}  // namespace
}  // namespace ashlar::testing

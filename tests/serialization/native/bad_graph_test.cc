// Model files that describe impossible graphs.

#include "tests/serialization/native/bad_model.h"
#include "tests/serialization/native/raw_model.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::EncodeFile;
using testing::ExpectRefused;
using testing::IsOk;
using testing::kMax;
using testing::RawModel;
using testing::RawNode;
using testing::ReadBounded;
using testing::Refused;

TEST(BadShapes, AreRefused) {
  const auto shape = [](std::vector<int64_t> dims) {
    return [dims](RawModel& model) { model.nodes[1].outputs[0].shape = dims; };
  };
  const auto input = [](std::vector<int64_t> dims) {
    return [dims](RawModel& model) {
      model.nodes[0].params[1].second = dims;
      model.nodes[0].outputs[0].shape = dims;
    };
  };
  const auto extent = [](uint64_t offset, uint64_t bytes) {
    return [=](RawModel& model) { model.nodes[1].value = {offset, bytes}; };
  };
  ExpectRefused({
      {"negative dimension", shape({1, 2, -3, 3}), "negative dimension"},
      {"zero dimension", shape({1, 2, 0, 3}), "needs 0"},
      {"elements overflow", shape({2147483647, 2147483647, 2147483647}), "larger than"},
      {"bytes overflow", shape({kMax / 4}), "larger than"},
      {"overflow behind a zero", shape({0, kMax, kMax}), "larger than"},
      {"rank 9", shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), "rank 9, at most 8"},
      {"10000 dimensions", shape(std::vector<int64_t>(10'000, 1)), "rank 10000"},
      {"rank 0 where an image is needed", input({}), "{}"},
      {"negative dimension of an input", input({1, 2, -4, 4}), "negative dimension"},
      {"input of an exabyte", input({1 << 30, 1 << 30}), "larger than"},
      {"shape larger than its bytes", shape({1 << 20, 1 << 10}), "value has 72 bytes"},
      {"bytes larger than the shape", extent(0, 76), "needs 72"},
      {"bytes of 2^63", extent(0, uint64_t{1} << 63), "value has 9223372036854775808"},
      {"value behind the section", extent(192, 72), "weights section of 192"},
      {"value's end outside", extent(128, 72), "weights section of 192"},
      {"offset of 2^64 - 64", extent(~uint64_t{63}, 72), "weights section of 192"},
      {"misaligned value", extent(4, 72), "multiple of 64"},
      {"no weights section", [](RawModel& model) { model.weights = ""; }, "weights section of 0"},
      {"recorded shape is not inferred",
       [](RawModel& model) {
         model.nodes[3].outputs[0].shape = {1, 1, 2, 3};
       },
       "recorded as Float32{1,1,2,3}, but its inputs make Float32{1,1,2,2}"},
      {"recorded dtype is not inferred",
       [](RawModel& model) { model.nodes[3].outputs[0].dtype = 1; }, "recorded as Float16"},
  });
}

// --- The graph.

TEST(BadGraph, IsRefused) {
  const auto inputs = [](std::vector<uint32_t> vars) {
    return [vars](RawModel& model) { model.nodes[3].inputs = vars; };
  };
  const auto again = [](size_t node) {
    return [node](RawModel& model) {
      RawNode copy = model.nodes[node];
      copy.id = 50, copy.outputs[0].id = 51;
      model.nodes.push_back(copy);
    };
  };
  ExpectRefused({
      {"input -1", inputs({0, 1, 0xffffffff}), "var 4294967295, but only 3"},
      {"input beyond the vars", inputs({0, 1, 99}), "var 99"},
      {"its own output", inputs({0, 1, 3}), "var 3, but only 3 are made before it"},
      {"unsorted nodes", [](RawModel& model) { std::swap(model.nodes[0], model.nodes[3]); },
       "only 0 are made"},
      {"workspace read as a value", [](RawModel& model) { model.nodes[4].inputs = {4}; },
       "input 0 is a workspace"},
      {"missing input", inputs({0, 1}), "ConvBiasForward"},
      {"no inputs", inputs({}), "ConvBiasForward"},
      {"extra inputs", inputs({0, 1, 2, 2, 2}), "ConvBiasForward"},
      {"inputs of an input", [](RawModel& model) { model.nodes[1].inputs = {0}; }, "expected 0"},
      {"no nodes", [](RawModel& model) { model.nodes.clear(); }, "no output"},
      {"no graph output", [](RawModel& model) { model.nodes.pop_back(); }, "no output"},
      {"node without outputs", [](RawModel& model) { model.nodes[3].outputs.clear(); },
       "no outputs"},
      {"an output too many",
       [](RawModel& model) {
         model.nodes[1].outputs.push_back(model.nodes[1].outputs[0]);
         model.nodes[1].outputs[1].id = 77;
       },
       "2 output ids, expected 1"},
      {"a node's id twice", [](RawModel& model) { model.nodes[3].id = 2; }, "id used twice"},
      {"a var's id twice", [](RawModel& model) { model.nodes[3].outputs[0].id = 3; }, "used twice"},
      {"a node's id as a var's", [](RawModel& model) { model.nodes[3].outputs[0].id = 2; },
       "used twice"},
      {"negative id", [](RawModel& model) { model.nodes[3].id = -1; }, "id -1"},
      {"largest id", [](RawModel& model) { model.nodes[3].id = 2147483647; }, "id 2147483647"},
      {"a var's largest id", [](RawModel& model) { model.nodes[3].outputs[0].id = 2147483647; },
       "id 2147483647"},
      {"negative next id", [](RawModel& model) { model.next_id = -1; }, "next_id is -1"},
      {"two inputs of one name", again(0), "two inputs are named 'data'"},
      {"two outputs of one name", again(4), "two outputs are named 'y'"},
      {"input without a name to bind", [](RawModel& model) { model.nodes[0].binding = ""; },
       "binding is missing"},
      {"operator with a name to bind", [](RawModel& model) { model.nodes[3].binding = "b"; },
       "binding is not for this type"},
      {"node without a name", [](RawModel& model) { model.nodes[3].name = ""; }, "no name"},
      {"unknown operator", [](RawModel& model) { model.nodes[3].type = "Loop"; },
       "unknown operator type 'Loop'"},
      {"operator without a name", [](RawModel& model) { model.nodes[3].type = ""; },
       "unknown operator type ''"},
      {"unknown dtype", [](RawModel& model) { model.nodes[1].outputs[0].dtype = 99; },
       "unknown dtype 99"},
      {"unknown format", [](RawModel& model) { model.nodes[1].outputs[0].format = 99; },
       "unknown format 99"},
      {"blocks of what is no image",
       [](RawModel& model) {
         model.nodes[1].outputs[0].shape = {18};
         model.nodes[1].outputs[0].format = 1;
       },
       "expected 4 dimensions"},
      {"unknown comp node", [](RawModel& model) { model.comp_node = "tpu0:0"; }, "comp_node"},
      {"comp node without end",
       [](RawModel& model) { model.comp_node = "cpu" + std::string(1000, '9'); }, "comp_node"},
      {"constant without a value", [](RawModel& model) { model.nodes[1].value.reset(); },
       "needs its value"},
      {"operator with a value",
       [](RawModel& model) {
         model.nodes[3].value = {0, 16};
       },
       "which only ImmutableTensor has"},
      {"constant with parameters",
       [](RawModel& model) {
         model.nodes[1].params = {{"axis", int64_t{1}}};
       },
       "without parameters"},
  });
}

TEST(BadGraph, NamesAreLabelsAndMayRepeat) {
  RawModel model = RawModel::Convolution();
  for (RawNode& node : model.nodes) {
    node.name = "same";
    for (auto& output : node.outputs) output.name = "same";
  }
  EXPECT_TRUE(IsOk(ReadBounded(EncodeFile(model))));
}

TEST(BadGraph, OutputsMayBeInputsOrConstants) {
  for (const uint32_t var : {0, 1}) {
    RawModel model = RawModel::Convolution();
    model.nodes[4].inputs = {var};
    EXPECT_TRUE(IsOk(ReadBounded(EncodeFile(model))));
  }
}

TEST(BadGraph, NamesOfAMebibyteDoNotFillTheMessage) {
  RawModel model = RawModel::Convolution();
  model.nodes[3].name = std::string(1 << 20, 'n');
  model.nodes[3].type = std::string(1 << 20, 't');
  const absl::Status status = ReadBounded(EncodeFile(model));
  EXPECT_TRUE(Refused(status, "unknown operator type"));
  EXPECT_LT(status.message().size(), 1000u);
}

TEST(BadGraph, ALongNameIsNotCopiedForEachInput) {
  RawModel model = RawModel::OneOperator("Concat", {{"axis", int64_t{0}}}, {{1}}, {20'000});
  model.nodes[0].outputs[0].name = std::string(100'000, 'n');
  model.nodes[1].inputs.assign(20'000, 0);
  EXPECT_TRUE(IsOk(ReadBounded(EncodeFile(model))));
}

TEST(BadGraph, AHundredThousandNodesAreRead) {
  RawModel model;
  model = RawModel::OneOperator("Elemwise", {{"mode", std::string("RELU")}}, {{1}}, {1});
  const RawNode relu = model.nodes[1];
  const RawNode output = model.nodes[2];
  model.nodes.resize(1);
  for (int i = 0; i < 100'000; ++i) {
    model.nodes.push_back(relu);
    model.nodes.back().id = 2 * i + 100;
    model.nodes.back().outputs[0].id = 2 * i + 101;
    model.nodes.back().inputs = {static_cast<uint32_t>(i)};
  }
  model.nodes.push_back(output);
  model.nodes.back().inputs = {100'000};
  EXPECT_TRUE(IsOk(ReadBounded(EncodeFile(model))));
}

// Each value is the last one joined with itself, and a Reshape reads the result: computing it would
// take 256 GiB.
TEST(BadGraph, ValuesThatDoubleAreNotComputed) {
  RawModel model = RawModel::OneOperator("Reshape", {}, {{1}}, {1});
  RawNode reshape = model.nodes[1];
  const RawNode output = model.nodes[2];
  model.nodes.resize(1);
  const int int32 = static_cast<int>(DType::kInt32);
  model.nodes.push_back(
      {200, "one", "ImmutableTensor", {}, {}, {{201, "one", {1}, int32}}, "", {{0, 4}}});
  for (int i = 1; i <= 36; ++i) {
    const uint32_t last = static_cast<uint32_t>(i);
    model.nodes.push_back({200 + 2 * i,
                           "join",
                           "Concat",
                           {{"axis", int64_t{0}}},
                           {last, last},
                           {{201 + 2 * i, "join", {int64_t{1} << i}, int32}}});
  }
  reshape.inputs = {0, 37};
  model.nodes.push_back(reshape);
  model.nodes.push_back(output);
  model.nodes.back().inputs = {38};
  model.weights = std::string(64, '\1');
  // The graph builder computes values up to 16 MiB, whatever their source.
  EXPECT_TRUE(Refused(ReadBounded(EncodeFile(model), 17 << 20), "Reshape"));
}

}  // namespace
}  // namespace ashlar

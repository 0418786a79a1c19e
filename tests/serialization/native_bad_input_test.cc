// Model files that must be refused: damaged, lying, or describing what no graph can be.
#include <sys/stat.h>

#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/allocation_origin.h"
#include "runtime/heap_counter.h"
#include "serialization/model_generated.h"
#include "serialization/native_reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/raw_model.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::EncodeFile;
using testing::EncodeGraph;
using testing::FailsWith;
using testing::IsOk;
using testing::RawModel;
using testing::RawNode;
using testing::ReadFile;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// What one reading may ask of the heap, all its allocations added up: so much for each byte of the
// file, and what small messages and containers take.
constexpr int64_t kHeapPerByte = 64, kHeapBesides = 64 << 10;

// Reads, and expects it to stay within the bound.
absl::Status Read(const std::string& file, int64_t heap_besides = kHeapBesides) {
  StartHeapCounting();
  absl::Status status;
  {
    const OriginScope counted(AllocationOrigin::kOwn);
    status = ReadFile(file).status();
  }
  const int64_t bytes = StopHeapCounting().own_bytes;
  EXPECT_LE(bytes, kHeapPerByte * static_cast<int64_t>(file.size()) + heap_besides);
  return status;
}

::testing::AssertionResult Refused(const absl::Status& status, const std::string& message) {
  if (!status.ok() && status.code() != absl::StatusCode::kInvalidArgument) {
    return ::testing::AssertionFailure() << status.ToString() << ", expected InvalidArgument";
  }
  if (!status.ok() && !FailsWith(status, "m.ash")) return FailsWith(status, "m.ash");
  return FailsWith(status, message);
}

// A change to the good model, and a part of the error.
struct Case {
  const char* name;
  std::function<void(RawModel&)> change;
  const char* message;
};

void ExpectRefused(const std::vector<Case>& cases) {
  ASSERT_TRUE(IsOk(Read(EncodeFile(RawModel::Convolution()))));
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    RawModel model = RawModel::Convolution();
    c.change(model);
    EXPECT_TRUE(Refused(Read(EncodeFile(model)), c.message));
  }
}

// --- The container.

TEST(BadContainer, TruncatedAtEveryLength) {
  const std::string file = EncodeFile(RawModel::Convolution());
  for (size_t length = 0; length < file.size(); ++length) {
    ASSERT_TRUE(Refused(Read(file.substr(0, length)), "")) << length;
  }
}

TEST(BadContainer, EveryBitOfHeaderAndGraphFlipped) {
  const std::string graph = EncodeGraph(RawModel::Convolution());
  const std::string file = EncodeFile(graph, RawModel::Convolution().weights);
  for (size_t i = 0; i < kNativeHeaderBytes + graph.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(absl::StrCat("byte ", i, " bit ", bit));
      std::string bad = file;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      const absl::Status status = Read(bad);
      // A flipped bit may describe another graph.
      ASSERT_TRUE(status.ok() || Refused(status, ""));
    }
  }
}

TEST(BadContainer, EveryByteInverted) {
  const std::string file = EncodeFile(RawModel::Convolution());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string bad = file;
    bad[i] = static_cast<char>(~bad[i]);
    const absl::Status status = Read(bad);
    // Padding and the values of weights may be anything.
    ASSERT_TRUE(status.ok() || Refused(status, "")) << "byte " << i;
  }
}

TEST(BadContainer, Headers) {
  const std::string good = EncodeFile(RawModel::Convolution());
  const auto with = [&](size_t at, uint64_t value, size_t bytes = 8) {
    std::string bad = good;
    return bad.replace(at, bytes, reinterpret_cast<const char*>(&value), bytes);
  };
  struct {
    const char* name;
    std::string file;
    const char* message;
  } const cases[] = {
      {"empty", "", "0 bytes"},
      {"one byte", good.substr(0, 1), "1 bytes"},
      {"another format", "PK\x03\x04" + good, "wrong magic number"},
      {"text mode", absl::StrCat(good.substr(0, 6), "\n", good.substr(8)), "wrong magic number"},
      {"newer version", with(8, 2, 4), "format version 2, this program reads 1"},
      {"larger header", with(12, 128, 4), "size 128"},
      {"reserved field", with(56, 1), "reserved field 1"},
      {"longer than it says", good + "x", "its header says"},
      {"graph of 2^32", with(32, uint64_t{1} << 32), "graph section"},
      {"graph of 2^63", with(32, uint64_t{1} << 63), "graph section"},
      {"graph's end overflows", with(32, ~uint64_t{0}), "graph section"},
      {"graph elsewhere", with(24, 128), "graph section"},
      {"weights of 2^63", with(48, uint64_t{1} << 63), "weights section"},
      {"weights' end overflows", with(48, ~uint64_t{0}), "weights section"},
      {"weights misaligned", with(40, 4097), "weights section"},
      {"weights over the graph", with(40, 0), "graph section"},
      {"root outside", with(kNativeHeaderBytes, 0x7fffffff, 4), "no valid FlatBuffer"},
      {"root of 0", with(kNativeHeaderBytes, 0, 4), "no valid FlatBuffer"},
      {"no graph", EncodeFile("", ""), "no valid FlatBuffer"},
      {"a graph of three bytes", EncodeFile("abc", ""), "no valid FlatBuffer"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(Refused(Read(c.file), c.message));
  }
}

TEST(BadContainer, BytesThatAreNotAligned) {
  alignas(64) static const uint8_t bytes[128] = {};
  EXPECT_TRUE(
      Refused(ReadModelFromBytes(absl::MakeConstSpan(bytes).subspan(1), nullptr, "m.ash").status(),
              "multiple of 64"));
}

TEST(BadContainer, WhatIsNoRegularFile) {
  testing::TempDir dir;
  EXPECT_EQ(ReadModel(dir / "missing.ash").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(FailsWith(ReadModel(dir / ".").status(), "not a regular file"));
  EXPECT_TRUE(FailsWith(ReadModel("/dev/null").status(), "not a regular file"));
  const std::string fifo = dir / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(FailsWith(ReadModel(fifo).status(), "not a regular file"));
}

// A FlatBuffer whose tables all share one string or one another: small in the file, large when
// read.
TEST(BadContainer, SharedStringsDoNotMultiply) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(std::string(100'000, 'x'));
  const auto type = builder.CreateString("ImmutableTensor");
  const fbs::Extent value(0, 4);
  const auto shape = builder.CreateVector(std::vector<int64_t>{1});
  std::vector<flatbuffers::Offset<fbs::Node>> nodes;
  for (int i = 0; i < 1000; ++i) {
    const std::vector outputs = {
        fbs::CreateVar(builder, 2 * i + 1, text, fbs::DType::Float32, fbs::Format::NCHW, shape)};
    nodes.push_back(fbs::CreateNode(builder, 2 * i, text, type, 0, 0, builder.CreateVector(outputs),
                                    0, 0, &value));
  }
  builder.Finish(
      fbs::CreateModel(builder, builder.CreateString("cpu0:0"), 0, builder.CreateVector(nodes)));
  const std::string graph(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                          builder.GetSize());
  EXPECT_TRUE(Refused(Read(EncodeFile(graph, std::string(64, '\0'))), "more bytes than"));
}

TEST(BadContainer, SharedTablesDoNotMultiply) {
  flatbuffers::FlatBufferBuilder builder;
  const fbs::Extent value(0, 4);
  const std::vector outputs = {fbs::CreateVar(builder, 1, builder.CreateString(""),
                                              fbs::DType::Float32, fbs::Format::NCHW,
                                              builder.CreateVector(std::vector<int64_t>{1}))};
  const auto node = fbs::CreateNode(builder, 0, builder.CreateString("n"),
                                    builder.CreateString("ImmutableTensor"), 0, 0,
                                    builder.CreateVector(outputs), 0, 0, &value);
  const std::vector nodes(100'000, node);
  builder.Finish(
      fbs::CreateModel(builder, builder.CreateString("cpu0:0"), 0, builder.CreateVector(nodes)));
  const std::string graph(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                          builder.GetSize());
  EXPECT_TRUE(Refused(Read(EncodeFile(graph, std::string(64, '\0'))), "no valid FlatBuffer"));
}

// --- Shapes and sizes.

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
      {"an output too few", [](RawModel& model) { model.nodes[3].outputs.pop_back(); },
       "1 output ids, expected 2"},
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
      {"two inputs of one name",
       [](RawModel& model) {
         RawNode again = model.nodes[0];
         again.id = 50, again.outputs[0].id = 51;
         model.nodes.push_back(again);
       },
       "two inputs are named 'data'"},
      {"two outputs of one name",
       [](RawModel& model) {
         RawNode again = model.nodes[4];
         again.id = 50, again.outputs[0].id = 51;
         model.nodes.push_back(again);
       },
       "two outputs are named 'y'"},
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
  EXPECT_TRUE(IsOk(Read(EncodeFile(model))));
}

TEST(BadGraph, OutputsMayBeInputsOrConstants) {
  for (const uint32_t var : {0, 1}) {
    RawModel model = RawModel::Convolution();
    model.nodes[4].inputs = {var};
    EXPECT_TRUE(IsOk(Read(EncodeFile(model))));
  }
}

TEST(BadGraph, NamesOfAMebibyteDoNotFillTheMessage) {
  RawModel model = RawModel::Convolution();
  model.nodes[3].name = std::string(1 << 20, 'n');
  model.nodes[3].type = std::string(1 << 20, 't');
  const absl::Status status = Read(EncodeFile(model));
  EXPECT_TRUE(Refused(status, "unknown operator type"));
  EXPECT_LT(status.message().size(), 1000u);
}

TEST(BadGraph, ALongNameIsNotCopiedForEachInput) {
  RawModel model = RawModel::OneOperator("Concat", {{"axis", int64_t{0}}}, {{1}}, {20'000});
  model.nodes[0].outputs[0].name = std::string(100'000, 'n');
  model.nodes[1].inputs.assign(20'000, 0);
  EXPECT_TRUE(IsOk(Read(EncodeFile(model))));
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
  EXPECT_TRUE(IsOk(Read(EncodeFile(model))));
}

// Joins of a value with itself, the last of which a Reshape asks for: 256 GiB if somebody computed
// it.
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
  // The graph builder computes small values, up to 16 MiB, whatever they come from.
  EXPECT_TRUE(Refused(Read(EncodeFile(model), 17 << 20), "Reshape"));
}

// --- Operators.

TEST(BadOperators, ConvolutionsAreRefused) {
  const auto param = [](const char* name, ParamValue value) {
    return [=](RawModel& model) {
      for (auto& [key, old] : model.nodes[3].params) {
        if (key == name) old = value;
      }
    };
  };
  const auto filter = [](std::vector<int64_t> shape) {
    return [shape](RawModel& model) {
      model.nodes[1].outputs[0].shape = shape;
      uint64_t bytes = 4;
      for (int64_t dim : shape) bytes *= dim;
      model.nodes[1].value = {0, bytes};
    };
  };
  ExpectRefused({
      {"stride 0", param("stride_h", int64_t{0}), "stride_h is 0"},
      {"negative stride", param("stride_w", int64_t{-1}), "stride_w is -1"},
      {"stride of 2^63 - 1", param("stride_w", kMax), "stride_w"},
      {"dilation 0", param("dilate_h", int64_t{0}), "dilate_h is 0"},
      {"dilation of 2^63 - 1", param("dilate_h", kMax), "dilate_h"},
      {"dilation beyond the image", param("dilate_h", int64_t{1 << 30}), "larger than the padded"},
      {"negative padding", param("pad_w", int64_t{-1}), "pad_w is -1"},
      {"padding of 2^63 - 1", param("pad_w", kMax), "pad_w"},
      {"output of terabytes",
       [&](RawModel& model) {
         param("pad_h", int64_t{1 << 30})(model);
         param("pad_w", int64_t{1 << 30})(model);
       },
       "larger than"},
      {"wrong type", param("stride_h", std::string("1")), "'stride_h' has the wrong type"},
      {"unknown value", param("mode", std::string("99")), "unknown value '99'"},
      {"missing parameter", [](RawModel& model) { model.nodes[3].params.pop_back(); },
       "'nonlineMode' is missing"},
      {"a parameter more",
       [](RawModel& model) { model.nodes[3].params.emplace_back("evil", true); },
       "unknown parameter 'evil'"},
      {"a parameter twice",
       [](RawModel& model) { model.nodes[3].params.push_back(model.nodes[3].params[0]); }, ""},
      {"filter of other channels", filter({1, 3, 2, 3}), "channels"},
      {"filter of rank 3", filter({2, 3, 3}), ""},
      {"filter larger than the image", filter({1, 2, 5, 1}), "larger than the padded"},
      {"filter without channels", filter({1, 0, 3, 3}), ""},
      {"groups that do not divide",
       [&](RawModel& model) {
         filter({3, 1, 1, 3, 3})(model);
         model.nodes[1].value = {0, 108};
         param("sparse", std::string("GROUP"))(model);
       },
       ""},
      {"groups of nothing",
       [&](RawModel& model) {
         filter({0, 1, 1, 3, 3})(model);
         param("sparse", std::string("GROUP"))(model);
       },
       ""},
  });
}

TEST(BadOperators, OthersAreRefused) {
  using Ints = std::vector<int64_t>;
  struct {
    const char* name;
    const char* type;
    ParamList params;
    std::vector<Ints> inputs;
    const char* message;
  } const cases[] = {
      {"BatchNorm without channels",
       "BatchNorm",
       {{"epsilon", 1e-5}},
       {{4}, {4}, {4}, {4}, {4}},
       ""},
      {"BatchNorm of NaN",
       "BatchNorm",
       {{"epsilon", std::nan("")}},
       {{1, 4}, {4}, {4}, {4}, {4}},
       "epsilon"},
      {"BatchNorm of -1",
       "BatchNorm",
       {{"epsilon", -1.0}},
       {{1, 4}, {4}, {4}, {4}, {4}},
       "epsilon"},
      {"Concat beyond the rank", "Concat", {{"axis", int64_t{2}}}, {{1, 2}, {1, 2}}, "axis"},
      {"Concat of ranks", "Concat", {{"axis", int64_t{0}}}, {{1, 2}, {1}}, ""},
      {"Concat of nothing", "Concat", {{"axis", int64_t{0}}}, {}, ""},
      {"Dimshuffle that repeats", "Dimshuffle", {{"pattern", Ints{0, 0}}}, {{1, 2}}, ""},
      {"Dimshuffle beyond the rank", "Dimshuffle", {{"pattern", Ints{0, 2}}}, {{1, 2}}, ""},
      {"Dimshuffle that drops a dimension", "Dimshuffle", {{"pattern", Ints{0}}}, {{1, 2}}, ""},
      {"Dimshuffle to rank 100", "Dimshuffle", {{"pattern", Ints(100, -1)}}, {{1}}, ""},
      {"Elemwise of other shapes",
       "Elemwise",
       {{"mode", std::string("ADD")}},
       {{2}, {3}},
       "broadcast"},
      {"Elemwise of one input", "Elemwise", {{"mode", std::string("ADD")}}, {{2}}, "inputs"},
      {"LRN of 0 channels",
       "LRN",
       {{"size", int64_t{0}}, {"alpha", 1.0}, {"beta", 1.0}, {"bias", 1.0}},
       {{1, 1, 1, 1}},
       "size"},
      {"MatrixMul of nothing",
       "MatrixMul",
       {{"transposeA", false},
        {"transposeB", false},
        {"compute_mode", std::string("DEFAULT")},
        {"format", std::string("DEFAULT")}},
       {{2, 0}, {0, 2}},
       ""},
      {"Reduce beyond the rank",
       "Reduce",
       {{"mode", std::string("SUM")}, {"axis", int64_t{2}}, {"data_type", std::string("DEFAULT")}},
       {{1, 2}},
       "axis"},
      {"Reshape to what is only known later", "Reshape", {}, {{2}, {1}}, ""},
      {"Softmax of a scalar", "Softmax", {{"axis", int64_t{0}}}, {{}}, ""},
      {"Softmax of axis -2^63",
       "Softmax",
       {{"axis", std::numeric_limits<int64_t>::min()}},
       {{2}},
       "axis"},
      {"TypeCvt to 99", "TypeCvt", {{"dtype", std::string("99")}}, {{2}}, "unknown value '99'"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const RawModel model = RawModel::OneOperator(c.type, c.params, c.inputs, {1});
    EXPECT_TRUE(Refused(Read(EncodeFile(model)), c.message));
  }
}

TEST(BadOperators, PoolingIsRefused) {
  struct {
    const char* name;
    const char* param;
    int64_t value;
    const char* message;
  } const cases[] = {
      {"window 0", "window_h", 0, "window_h is 0"},
      {"stride 0", "stride_w", 0, "stride_w is 0"},
      {"window in the padding", "pad_h", 2, "wholly in the padding"},
      {"window of 2^63 - 1", "window_h", kMax, "window_h"},
      {"window beyond the image", "window_w", 5, "larger than the padded"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ParamList params = {{"format", std::string("NCHW")}, {"mode", std::string("AVERAGE")}};
    for (const char* name : {"window_h", "window_w", "stride_h", "stride_w", "pad_h", "pad_w"}) {
      const int64_t fallback = name[0] == 'p' ? 0 : 2;
      params.emplace_back(name, std::string(name) == c.param ? c.value : fallback);
    }
    const RawModel model =
        RawModel::OneOperator("PoolingForward", params, {{1, 1, 4, 4}}, {1, 1, 2, 2});
    EXPECT_TRUE(Refused(Read(EncodeFile(model)), c.message));
  }
}

}  // namespace
}  // namespace ashlar

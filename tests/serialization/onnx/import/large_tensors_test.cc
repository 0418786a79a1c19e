// Large tensors found in an ONNX file, against protobuf's own reader of the whole file.
#include "serialization/onnx/large_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "absl/strings/str_join.h"
#include "tests/serialization/onnx/model_text.h"

namespace ashlar::testing {
namespace {

constexpr size_t kLeast = 12;

std::string Tensor(const std::string& name, const std::string& data) {
  return absl::StrCat("{ name: '", name, "' data_type: 1 dims: 4 ", data, " } ");
}

// Has elements in every place, large and small ones.
std::string Model() {
  const std::string large = "raw_data: '0123456789abcdef' ", small = "raw_data: '01234567' ";
  const std::string floats = "float_data: [1, 2, 3, 4] ";
  const auto constant = [](const std::string& type, const std::string& tensor) {
    return absl::StrCat("node { op_type: '", type, "' output: 'c' attribute { name: 'n' i: 1 } ",
                        "attribute { name: 'value' t ", tensor, "} } ");
  };
  return Serialized(absl::StrCat(
      "ir_version: 8 producer_name: 'p' opset_import { version: 17 } metadata_props { key: 'k' "
      "value: 'v' } graph { name: 'g' initializer ",
      Tensor("a", large), "initializer ", Tensor("b", small), "initializer ", Tensor("c", floats),
      "initializer ", Tensor("d", large + "float_data: 1 "), "initializer ",
      Tensor("e", "int64_data: [1,2,3,4,5,6,7,8,9,10,11,12]"),
      constant("Constant", Tensor("", large)), constant("Constant", Tensor("", floats)),
      constant("Constant", Tensor("", small)), constant("Other", Tensor("", large)),
      "node { op_type: 'If' attribute { name: 'then' g { initializer ", Tensor("f", large),
      "} } } initializer ", Tensor("g", large + "doc_string: 'd' "), "input ", ValueText("x", {1}),
      "} "));
}

// Parses the messages, and puts the elements back.
std::optional<onnx::ModelProto> Joined(const OnnxFileParts& parts) {
  onnx::ModelProto model;
  if (!model.ParseFromString(absl::StrJoin(parts.messages, ""))) return std::nullopt;
  const auto put = [](const LargeTensor& tensor, onnx::TensorProto& to) {
    EXPECT_TRUE(to.raw_data().empty() && to.float_data().empty());
    if (!tensor.is_float_data) {
      to.set_raw_data(std::string(tensor.bytes));
      return;
    }
    for (size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      float value;
      std::copy_n(tensor.bytes.data() + i, sizeof(value), reinterpret_cast<char*>(&value));
      to.add_float_data(value);
    }
  };
  if (parts.initializers.empty() && parts.attributes.empty()) return model;
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const auto& [index, tensor] : parts.initializers) {
    put(tensor, *graph.mutable_initializer(index));
  }
  for (const auto& [at, tensor] : parts.attributes) {
    put(tensor, *graph.mutable_node(at.first)->mutable_attribute(at.second)->mutable_t());
  }
  return model;
}

TEST(OnnxLargeTensors, AreFoundWhereOneFieldHasThem) {
  const std::string file = Model();
  const OnnxFileParts parts = FindLargeTensors(file, kLeast);
  std::vector<int> initializers;
  for (const auto& [index, tensor] : parts.initializers) {
    initializers.push_back(index);
    EXPECT_EQ(tensor.bytes.size(), 16u);
    EXPECT_EQ(tensor.is_float_data, index == 2);
    EXPECT_TRUE(tensor.bytes.data() > file.data() && tensor.bytes.data() < &file.back());
  }
  EXPECT_EQ(initializers, (std::vector<int>{0, 2, 5})) << "not 3, which has elements twice";
  ASSERT_EQ(parts.attributes.size(), 2u);
  EXPECT_EQ(parts.attributes.count({0, 1}), 1u);
  EXPECT_EQ(parts.attributes.count({1, 1}), 1u);
  EXPECT_EQ(absl::StrJoin(parts.messages, "").size(), file.size() - 5 * 18);
  EXPECT_EQ(Joined(parts)->SerializeAsString(), file);
}

TEST(OnnxLargeTensors, SmallOnesStayInOnePiece) {
  const std::string file = Model();
  const OnnxFileParts parts = FindLargeTensors(file, 17);
  ASSERT_EQ(parts.messages.size(), 1u);
  EXPECT_EQ(parts.messages[0].data(), file.data());
  EXPECT_EQ(parts.messages[0].size(), file.size());
}

// The last one of a field counts; two graphs are one.
TEST(OnnxLargeTensors, FilesWithFieldsTwiceStayAsTheyAre) {
  const std::string file = Model();
  const OnnxFileParts parts = FindLargeTensors(file + file, kLeast);
  EXPECT_EQ(parts.messages.size(), 1u);
  EXPECT_TRUE(parts.initializers.empty() && parts.attributes.empty());
}

// Whatever the bytes are: the file and its parts are both no message, or the same message.
TEST(OnnxLargeTensors, DamagedFilesAreReadAsByProtobuf) {
  const std::string whole = Model();
  std::mt19937 random(44);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string file = whole;
    for (int change = static_cast<int>(random() % 3); change >= 0; --change) {
      const size_t at = random() % file.size();
      const char byte = static_cast<char>(random() % 2 ? random() : file[random() % file.size()]);
      switch (random() % 4) {
        case 0:
          file.insert(at, 1, byte);
          break;
        case 1:
          file.erase(at, random() % 4);
          break;
        default:
          file[at] = byte;
      }
      if (random() % 50 == 0) file.resize(at + 1);
    }
    onnx::ModelProto expected;
    const bool parsed = expected.ParseFromString(file);
    const std::optional<onnx::ModelProto> joined = Joined(FindLargeTensors(file, kLeast));
    ASSERT_EQ(joined.has_value(), parsed) << "file " << i;
    if (!parsed) continue;
    ++read;
    ASSERT_EQ(joined->SerializeAsString(), expected.SerializeAsString()) << "file " << i;
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace ashlar::testing

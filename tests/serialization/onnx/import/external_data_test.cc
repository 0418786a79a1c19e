// Weights in files beside a model: accepted and refused ones.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_split.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/support/operators.h"
#include "tests/support/refused_texts.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns x + w, with the location of w.
std::string Model(const std::string& place) {
  std::string entries;
  for (const absl::string_view entry : absl::StrSplit(place, ' ')) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    absl::StrAppend(&entries, "external_data { key: '", pair.first, "' value: '", pair.second,
                    "' } ");
  }
  return Serialized(ModelText(
      absl::StrCat("initializer { name: 'w' data_type: 1 dims: 4 data_location: EXTERNAL ", entries,
                   " } node { op_type: 'Add' input: ['x', 'w'] output: 'y' }")));
}

class OnnxExternalData : public ::testing::Test {
 protected:
  OnnxExternalData() {
    std::filesystem::create_directories(dir_ / "model/sub");
    const float values[] = {0, 0, 1, 2, 3, 4, 0, 0};
    const std::string bytes(reinterpret_cast<const char*>(values), sizeof(values));
    WriteWholeFile(dir_ / "model/data", bytes);
    WriteWholeFile(dir_ / "model/sub/data", bytes);
    WriteWholeFile(dir_ / "secret", bytes);
  }
  absl::StatusOr<Graph> Read(const std::string& place, bool follow_links = false) {
    WriteWholeFile(dir_ / "model/m.onnx", Model(place));
    return ReadOnnx(dir_ / "model/m.onnx", {.follow_links = follow_links});
  }

  TempDir dir_;
};

TEST_F(OnnxExternalData, IsReadFromItsPlace) {
  for (const char* place :
       {"location=data offset=8 length=16", "location=./data offset=8 length=16 checksum=zz",
        "location=sub/data length=16 offset=8"}) {
    SCOPED_TRACE(place);
    const Graph graph = Value(Read(place));
    const HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4});
    const std::vector<HostTensor> y = Value(EvaluateGraph(graph, {{"x", x}}));
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(y[0].At(i), static_cast<double>(i % 4 + 1));
  }
}

// Kernels need aligned floats, so unaligned weights are copied.
TEST_F(OnnxExternalData, MayLieAnywhereInItsFile) {
  const Graph graph = Value(Read("location=data offset=9 length=16"));
  for (const OperatorNode& node : graph.nodes()) {
    if (node.constant == nullptr) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(node.constant->raw()) % sizeof(float), 0u);
  }
}

TEST_F(OnnxExternalData, IsRefused) {
  ASSERT_EQ(symlink("../secret", (dir_ / "model/link").c_str()), 0);
  ASSERT_EQ(symlink("..", (dir_ / "model/up").c_str()), 0);
  ASSERT_EQ(mkfifo((dir_ / "model/fifo").c_str(), 0600), 0);
  std::filesystem::create_hard_link(dir_ / "secret", dir_ / "model/hard");
  const std::vector<RefusedText> places = {
      {"location=none", "none, which m.onnx refers to, is not beside it"},
      {"location=../secret", "leaves the model's folder"},
      {"location=sub/../../secret", "leaves the model's folder"},
      {"location=" + dir_ / "secret", "an absolute path"},
      {"location=sub\\\\data", "a backslash"},
      {"location=a\\000b", "a zero byte"},
      {"location=", "no location"},
      {"offset=1", "no location"},
      {"location=.", "names no file"},
      {"location=link", "symbolic link"},
      {"location=up/secret", "symbolic link"},
      {"location=hard", "hard links"},
      {"location=fifo", "not a regular file"},
      {"location=sub", "sub"},
      {"location=data offset=-1", "offset is '-1'"},
      {"location=data offset=x", "offset is 'x'"},
      {"location=data offset=20 length=16", "beyond"},
      {"location=data offset=9223372036854775807", "beyond"},
      {"location=data length=1125899906842624", "beyond"},
      {"location=data offset=8 length=12", "12 bytes, the shape needs 16"},
      {"location=data", "32 bytes, the shape needs 16"},
  };
  ExpectTextsRefused(places, [&](const std::string& place) {
    const absl::Status status = Read(place).status();
    EXPECT_TRUE(FailsWith(status, "m.onnx"));
    return status;
  });
}

TEST_F(OnnxExternalData, FollowsLinksWhereThatIsAllowed) {
  ASSERT_EQ(symlink("../secret", (dir_ / "model/link").c_str()), 0);
  EXPECT_TRUE(IsOk(Read("location=link offset=8 length=16", true).status()));
}

// A model in memory reads the caller's files in place, and holds the ones that it reads.
TEST_F(OnnxExternalData, OfAModelInMemoryIsTheCallers) {
  const auto read = [&](const std::string& place, const FilesInMemory& files) {
    const std::string model = Model(place);
    return ReadOnnxFromBytes({reinterpret_cast<const uint8_t*>(model.data()), model.size()}, "m",
                             {.files = files});
  };
  const auto values = std::make_shared<const std::vector<float>>(std::vector<float>{0, 1, 2, 3, 4});
  const auto unused = std::make_shared<const int>(0);
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values->data()), 20);
  {
    const Graph graph =
        Value(read("location=/w offset=4", {{"/w", {bytes, values}}, {"v", {{}, unused}}}));
    EXPECT_EQ(unused.use_count(), 1);
    EXPECT_GT(values.use_count(), 1);
    for (const OperatorNode& node : graph.nodes()) {
      if (node.constant == nullptr) continue;
      EXPECT_EQ(node.constant->raw(), values->data() + 1);
    }
    const HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 2, 4, 4});
    const std::vector<HostTensor> y = Value(EvaluateGraph(graph, {{"x", x}}));
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(y[0].At(i), static_cast<double>(i % 4 + 1));
  }
  EXPECT_EQ(values.use_count(), 1);
  const struct {
    const char *place, *error;
  } cases[] = {{"location=w", "20 bytes, the shape needs 16"},
               {"location=w offset=8", "12 bytes, the shape needs 16"},
               {"location=w offset=8 length=16", "beyond its 20 bytes"},
               {"location=data offset=8 length=16", "a model in memory does not have beside it"}};
  for (const auto& test : cases) {
    EXPECT_TRUE(FailsWith(read(test.place, {{"w", {bytes, values}}}).status(), test.error));
  }
}

TEST_F(OnnxExternalData, IsNotReadTwice) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  WriteWholeFile(dir_ / "model/m.onnx", Model("location=data offset=8 length=16"));
  const Graph graph = Value(ReadOnnx(dir_ / "model/m.onnx", {}, &files));
  ASSERT_EQ(files.size(), 2u);  // and the model's own
  for (const OperatorNode& node : graph.nodes()) {
    if (node.constant == nullptr) continue;
    EXPECT_EQ(node.constant->raw(), files[0]->bytes().data() + 8);
  }
}

}  // namespace
}  // namespace ashlar::testing

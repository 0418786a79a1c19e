// Model files that are damaged or make false statements about their contents.
#include <sys/stat.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "serialization/checksum.h"
#include "serialization/native/format.h"
#include "serialization/native/model_generated.h"
#include "serialization/native/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/native/bad_model.h"
#include "tests/serialization/native/raw_model.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::EncodeFile;
using testing::EncodeGraph;
using testing::FailsWith;
using testing::IsOk;
using testing::RawModel;
using testing::ReadBounded;
using testing::Refused;

TEST(BadContainer, TruncatedAtEveryLength) {
  const std::string file = EncodeFile(RawModel::Convolution());
  for (size_t length = 0; length < file.size(); ++length) {
    ASSERT_TRUE(Refused(ReadBounded(file.substr(0, length)), "")) << length;
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
      const absl::Status status = ReadBounded(bad);
      // A flipped bit may give another valid graph.
      ASSERT_TRUE(status.ok() || Refused(status, ""));
    }
  }
}

TEST(BadContainer, EveryByteInverted) {
  const std::string file = EncodeFile(RawModel::Convolution());
  for (size_t i = 0; i < file.size(); ++i) {
    std::string bad = file;
    bad[i] = static_cast<char>(~bad[i]);
    const absl::Status status = ReadBounded(bad);
    // Padding and the values of weights may be arbitrary.
    ASSERT_TRUE(status.ok() || Refused(status, "")) << "byte " << i;
  }
}

std::string WithHeaderChecksum(std::string file) {
  constexpr size_t kAt = kNativeHeaderBytes - sizeof(uint64_t);
  const uint64_t checksum = Checksum(file.data(), kAt);
  return file.replace(kAt, sizeof(checksum), reinterpret_cast<const char*>(&checksum),
                      sizeof(checksum));
}

TEST(BadContainer, DamagedGraphsDoNotPassForOthers) {
  // The last byte of a name: the graph is still valid.
  std::string file = EncodeFile(RawModel::Convolution());
  const size_t name = file.find(RawModel::Convolution().nodes[0].name, kNativeHeaderBytes);
  ASSERT_NE(name, std::string::npos);
  file[name] = static_cast<char>(file[name] ^ 1);
  EXPECT_TRUE(Refused(ReadBounded(file), "graph section"));
}

// A header of 64 bytes, and no checksums.
TEST(BadContainer, FilesOfVersion1AreRead) {
  const RawModel model = RawModel::Convolution();
  const std::string graph = EncodeGraph(model), good = EncodeFile(model);
  constexpr size_t kHeader = 64;
  std::string old = good.substr(0, kHeader) + graph;
  const auto put = [&](size_t at, uint64_t value, size_t bytes) {
    old.replace(at, bytes, reinterpret_cast<const char*>(&value), bytes);
  };
  uint64_t weights = 0;
  std::memcpy(&weights, good.data() + 40, sizeof(weights));
  put(8, 1, 4);
  put(12, kHeader, 4);
  put(24, kHeader, 8);
  old.resize(weights, '\0');
  old += good.substr(weights);
  EXPECT_TRUE(IsOk(ReadBounded(old)));
  old[kHeader + graph.size() / 2] ^= 1;  // whatever the result, no crash
  ReadBounded(old).IgnoreError();
}

TEST(BadContainer, Headers) {
  const std::string good = EncodeFile(RawModel::Convolution());
  const auto with = [&](size_t at, uint64_t value, size_t bytes = 8) {
    std::string bad = good;
    bad.replace(at, bytes, reinterpret_cast<const char*>(&value), bytes);
    return at < kNativeHeaderBytes ? WithHeaderChecksum(std::move(bad)) : bad;
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
      {"newer version", with(8, 3, 4), "format version 3, this program reads 1 to 2"},
      {"larger header", with(12, 256, 4), "size 256"},
      {"a packed section that is not there", with(56, good.size()), "packed section"},
      {"a packed section outside", with(56, ~uint64_t{0}), "packed section"},
      {"longer than it says", good + "x", "its header says"},
      {"graph of 2^32", with(32, uint64_t{1} << 32), "graph section"},
      {"graph of 2^63", with(32, uint64_t{1} << 63), "graph section"},
      {"graph's end overflows", with(32, ~uint64_t{0}), "graph section"},
      {"graph elsewhere", with(24, 192), "graph section"},
      {"weights of 2^63", with(48, uint64_t{1} << 63), "weights section"},
      {"weights' end overflows", with(48, ~uint64_t{0}), "weights section"},
      {"weights misaligned", with(40, 4097), "weights section"},
      {"weights over the graph", with(40, 0), "graph section"},
      {"a header of another file", good.substr(0, 72) + std::string(8, 'x') + good.substr(80),
       "header: damaged"},
      {"root outside", with(kNativeHeaderBytes, 0x7fffffff, 4), "no valid FlatBuffer"},
      {"root of 0", with(kNativeHeaderBytes, 0, 4), "no valid FlatBuffer"},
      {"no graph", EncodeFile("", ""), "no valid FlatBuffer"},
      {"a graph of three bytes", EncodeFile("abc", ""), "no valid FlatBuffer"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(Refused(ReadBounded(c.file), c.message));
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

// A FlatBuffer whose tables share strings or one another: small in the file, large when read.
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
  EXPECT_TRUE(Refused(ReadBounded(EncodeFile(graph, std::string(64, '\0'))), "more bytes than"));
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
  EXPECT_TRUE(
      Refused(ReadBounded(EncodeFile(graph, std::string(64, '\0'))), "no valid FlatBuffer"));
}

}  // namespace
}  // namespace ashlar

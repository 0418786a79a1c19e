#include "serialization/npz.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/serialization/bad_files.h"
#include "tests/serialization/files.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;
using testing::ReadWholeFile;
using testing::TempDir;

HostTensor Ints(std::vector<int32_t> values) {
  return HostTensor::FromValues<int32_t>(DType::kInt32, {static_cast<int64_t>(values.size())},
                                         values);
}

// Writes an archive of two arrays, "ab" and "cd".
std::string GoodArchive(const TempDir& dir) {
  EXPECT_TRUE(WriteNpz({{"ab", Ints({1, 2, 3})}, {"cd", Ints({4})}}, dir / "good.npz").ok());
  return ReadWholeFile(dir / "good.npz");
}

absl::StatusOr<NamedTensors> ParseArchive(const std::string& file) {
  return ParseNpz(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(file.data()), file.size()),
                  "x.npz");
}

TEST(Npz, RoundTrip) {
  TempDir dir;
  const NamedTensors tensors = {{"fc(x)[12]", Ints({1, 2, 3})},
                                {"layer1/conv", HostTensor::Zeros(DType::kFloat32, {2, 0, 3})},
                                {"scalar", HostTensor::Zeros(DType::kFloat32, {})}};
  ASSERT_TRUE(WriteNpz(tensors, dir / "x.npz").ok());
  const auto read = ReadNpz(dir / "x.npz");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*read)[i].first, tensors[i].first);
    EXPECT_EQ((*read)[i].second.shape(), tensors[i].second.shape());
    EXPECT_EQ((*read)[i].second.dtype(), tensors[i].second.dtype());
  }
  EXPECT_EQ((*read)[0].second.At(2), 3);
}

TEST(Npz, EmptyArchive) {
  TempDir dir;
  ASSERT_TRUE(WriteNpz({}, dir / "x.npz").ok());
  const auto read = ReadNpz(dir / "x.npz");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->empty());
}

// The output of numpy.savez_compressed: 40 times 1.5.
constexpr char kDeflated[] =
    "\x50\x4b\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00\x21\x00\x30\xc9\xf2\xd8\x4c\x00"
    "\x00\x00\x20\x01\x00\x00\x05\x00\x00\x00\x61\x2e\x6e\x70\x79\x9b\xec\x17\xea\x1b"
    "\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2"
    "\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc"
    "\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x26\x06\x3a\x9a\x3a\x0a\xb5\x0a"
    "\xe4\x03\x2e\x06\x86\x03\xf6\x83\x19\x03\x00\x50\x4b\x01\x02\x14\x03\x14\x00\x00"
    "\x00\x08\x00\x00\x00\x21\x00\x30\xc9\xf2\xd8\x4c\x00\x00\x00\x20\x01\x00\x00\x05"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x61\x2e\x6e"
    "\x70\x79\x50\x4b\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x33\x00\x00\x00\x6f\x00"
    "\x00\x00\x00\x00";

TEST(Npz, ReadsCompressedArchives) {
  const std::string good(kDeflated, sizeof(kDeflated) - 1);
  const NamedTensors tensors = *ParseArchive(good);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].first, "a");
  ASSERT_EQ(tensors[0].second.shape(), Shape({40}));
  for (int i = 0; i < 40; ++i) EXPECT_EQ(tensors[0].second.At(i), 1.5);
  for (size_t i = 0; i < good.size(); ++i) {  // damaged: an error, or the same name and values
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const absl::StatusOr<NamedTensors> read = ParseArchive(bad);
    if (!read.ok() || read->empty()) continue;
    EXPECT_EQ((*read)[0].second.At(0), 1.5) << i;
  }
}

// Exporters derive names of values from modules: "/layer1/conv/Conv_output_0".
TEST(Npz, NamesThatLookLikePathsAreNamesOfValues) {
  TempDir dir;
  NamedTensors tensors;
  for (const char* name : {"/layer1/conv/Conv_output_0", "/", "//a", "a//b", "../a", "a/..", "a\\b",
                           "C:\\a", ".", "", "a:0", "\xc3\xa4/\xe2\x82\xac", " "}) {
    tensors.emplace_back(name, HostTensor::Zeros(DType::kFloat32, {3}));
  }
  const std::string path = dir / "x.npz";
  ASSERT_TRUE(WriteNpz(tensors, path).ok());
  const NamedTensors read = *ReadNpz(path);
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].first, tensors[i].first);
}

TEST(Npz, RefusesBadArchives) {
  TempDir dir;
  const std::string good = GoodArchive(dir);
  const size_t directory = good.find("PK\x01\x02");
  const size_t second = good.find("PK\x01\x02", directory + 1);
  const size_t end = good.find("PK\x05\x06");
  const auto edit = [&](size_t at, const std::string& bytes) {
    std::string bad = good;
    return bad.replace(at, bytes.size(), bytes);
  };
  const std::vector<testing::BadFile> files = {
      {"empty", "", "no end record"},
      {"not a zip", std::string(100, 'x'), "no end record"},
      {"compressed otherwise", edit(directory + 10, "\x0c"), "compressed (method 12)"},
      {"not deflated", edit(directory + 10, "\x08"), "does not decompress"},
      {"a bomb",
       edit(directory + 10, std::string("\x08\0\0\0\0\0\0\0\0\0\1\0\0\0\xff\xff\xff\x7f", 18)),
       "1 bytes for 2147483647"},
      {"encrypted", edit(directory + 8, "\x01"), "encrypted"},
      {"wrong sum", edit(directory - 1, "\x55"), "CRC-32"},
      {"NUL", absl::StrReplaceAll(good, {{"ab.npy", std::string("a\0.npy", 6)}}), "byte 0"},
      {"not an array", absl::StrReplaceAll(good, {{"ab.npy", "ab.exe"}}), "no .npy file"},
      {"a name twice", absl::StrReplaceAll(good, {{"cd.npy", "ab.npy"}}), "twice"},
      {"other local name", edit(good.find("ab.npy"), "xx"), "no header of its own"},
      {"local header outside", edit(directory + 42, "\xff\xff\xff\x7f"), "no header of its own"},
      {"content outside", edit(directory + 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f"), "goes beyond"},
      {"sizes differ", edit(directory + 20, "\x01"), "is stored"},
      {"zip64", edit(end + 16, "\xff\xff\xff\xff"), "zip64"},
      {"several parts", edit(end + 4, "\x01"), "several parts"},
      {"more entries than there are", edit(end + 8, std::string("\x03\0\x03\0", 4)),
       "no directory entry 2"},
      {"directory outside", edit(end + 16, "\xff\xff\xff\x7f"), "no directory entry 0"},
      {"shared content", edit(second + 42, std::string(4, '\0')), "no header of its own"},
      {"no array inside", edit(good.find("NUMPY"), "numpy"), "CRC-32"},
  };
  testing::ExpectRefused(files, "x.npz",
                         [](const std::string& content) { return ParseArchive(content).status(); });
}

TEST(Npz, RefusesEntriesThatShareBytes) {
  // A hundred directory entries for one array of 4 KB; all but one exist only in the directory.
  TempDir dir;
  ASSERT_TRUE(WriteNpz({{"a", HostTensor::Zeros(DType::kInt8, {4096})}}, dir / "good.npz").ok());
  const std::string good = ReadWholeFile(dir / "good.npz");
  const size_t directory = good.find("PK\x01\x02"), end = good.find("PK\x05\x06");
  std::string bad = good.substr(0, end);
  for (int i = 1; i < 100; ++i) bad += good.substr(directory, end - directory);
  std::string record = good.substr(end);
  record.replace(8, 4, std::string("\x64\0\x64\0", 4));
  EXPECT_THAT(std::string(ParseArchive(bad + record).status().message()),
              ::testing::AnyOf(HasSubstr("overlaps"), HasSubstr("twice")));
}

TEST(Npz, RefusesEveryTruncationAndSurvivesEveryFlip) {
  TempDir dir;
  const std::string good = GoodArchive(dir);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseArchive(good.substr(0, length)).ok()) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(~bad[i]);
    (void)ParseArchive(bad);
  }
}

TEST(WriteNpz, RefusesNamesThatCannotBeStoredAndKeepsTheOldFile) {
  TempDir dir;
  testing::WriteWholeFile(dir / "x.npz", "old");
  for (const std::string& name : {std::string("a\0b", 3), std::string(1 << 16, 'a')}) {
    SCOPED_TRACE(name.substr(0, 20));
    EXPECT_EQ(WriteNpz({{"a", Ints({1})}, {name, Ints({1})}}, dir / "x.npz").code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(WriteNpz({{"a", Ints({1})}, {"a", Ints({1})}}, dir / "x.npz").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadWholeFile(dir / "x.npz"), "old");
  EXPECT_EQ(dir.count(), 1u);
}

}  // namespace
}  // namespace ashlar

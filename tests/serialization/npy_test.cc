#include "serialization/npy.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/serialization/bad_files.h"
#include "tests/serialization/files.h"

namespace ashlar {
namespace {

using testing::ReadWholeFile;
using testing::TempDir;

// Returns a file of version 1.0 or 2.0 with this dictionary; its stated length can be made wrong.
std::string Npy(const std::string& dictionary, const std::string& elements, int major = 1,
                size_t length_offset = 0) {
  const size_t length = dictionary.size() + length_offset;
  std::string file = "\x93NUMPY";
  file +=
      {static_cast<char>(major), '\0', static_cast<char>(length), static_cast<char>(length >> 8)};
  if (major == 2) file += std::string(2, '\0');
  return file + dictionary + elements;
}

std::string Dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape,
                      ", }");
}

absl::StatusOr<HostTensor> Parse(const std::string& file) {
  return ParseNpy(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(file.data()), file.size()),
                  "x.npy");
}

template <typename T>
std::string BytesOf(std::vector<T> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(ReadNpy, ReadsEveryElementType) {
  struct Case {
    const char* descr;
    std::string elements;
    DType dtype;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"<f4", BytesOf<float>({1.5f, -2}), DType::kFloat32, {1.5, -2}},
      {"<f8", BytesOf<double>({1.5, 1e300}), DType::kFloat64, {1.5, 1e300}},
      {"<f2", BytesOf<uint16_t>({0x3c00, 0xc000}), DType::kFloat16, {1, -2}},
      {"<i8", BytesOf<int64_t>({-3, 4}), DType::kInt64, {-3, 4}},
      {"<i4", BytesOf<int32_t>({-3, 4}), DType::kInt32, {-3, 4}},
      {"|i1", BytesOf<int8_t>({-3, 4}), DType::kInt8, {-3, 4}},
      {"|u1", BytesOf<uint8_t>({253, 4}), DType::kUint8, {253, 4}},
      {"|b1", BytesOf<uint8_t>({1, 0}), DType::kBool, {1, 0}},
  };
  for (const Case& c : cases) {
    for (const int major : {1, 2}) {
      SCOPED_TRACE(absl::StrCat(c.descr, " version ", major));
      const auto tensor = Parse(Npy(Dictionary(c.descr, "(2,)"), c.elements, major));
      ASSERT_TRUE(tensor.ok()) << tensor.status();
      EXPECT_EQ(tensor->dtype(), c.dtype);
      EXPECT_EQ(tensor->shape(), Shape({2}));
      EXPECT_EQ(tensor->At(0), c.values[0]);
      EXPECT_EQ(tensor->At(1), c.values[1]);
    }
  }
}

TEST(ReadNpy, ReadsAnyShape) {
  struct {
    const char* text;
    std::vector<int64_t> dims;
  } const cases[] = {{"()", {}}, {"(0,)", {0}}, {"(1, 3)", {1, 3}}, {"(2,1,3,)", {2, 1, 3}}};
  for (const auto& [text, dims] : cases) {
    const Shape shape(dims);
    const auto tensor =
        Parse(Npy(Dictionary("<f4", text), std::string(4 * shape.num_elements(), 0)));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->shape(), shape);
  }
}

TEST(ReadNpy, RefusesBadFiles) {
  const std::string six(6 * 4, '\0');
  const std::string good = Npy(Dictionary("<f4", "(2, 3)"), six);
  ASSERT_TRUE(Parse(good).ok());
  const std::vector<testing::BadFile> files = {
      {"empty", "", "not a .npy"},
      {"wrong magic", "PK\x03\x04" + good, "not a .npy"},
      {"version 9", Npy(Dictionary("<f4", "(2, 3)"), six, 9), "version 9.0"},
      {"header beyond the file", Npy(Dictionary("<f4", "(2, 3)"), "", 1, 60000), "header of"},
      {"no dictionary", Npy("import os", six), "expected a dictionary"},
      {"no key", Npy("{'descr': '<f4'}", six), "without"},
      {"a key twice", Npy("{'descr': '<f4', 'descr': '<f4'}", six), "twice"},
      {"unknown key", Npy("{'evil': '<f4'}", six), "unknown key 'evil'"},
      {"open string", Npy("{'descr", six), "closed string"},
      {"text behind", Npy(Dictionary("<f4", "(2, 3)") + "x", six), "nothing more"},
      {"structured", Npy("{'descr': [('a', '<f4')]}", six), "expected a string"},
      {"Fortran order", Npy(Dictionary("<f4", "(2, 3)", "True"), six), "Fortran"},
      {"big-endian", Npy(Dictionary(">f4", "(2, 3)"), six), "big-endian"},
      {"object", Npy(Dictionary("|O", "(2, 3)"), six), "objects are never read"},
      {"complex", Npy(Dictionary("<c8", "(2, 3)"), six), "'<c8'"},
      {"negative", Npy(Dictionary("<f4", "(-2, 3)"), six), "a dimension"},
      {"beyond 64 bits", Npy(Dictionary("<f4", "(99999999999999999999,)"), six), "a dimension"},
      {"product overflows", Npy(Dictionary("<f4", "(4294967296, 4294967296)"), six), "larger"},
      {"overflow behind a zero", Npy(Dictionary("<f4", "(0, 4611686018427387904, 4)"), ""),
       "larger"},
      {"exabytes", Npy(Dictionary("|u1", "(1152921504606846976,)"), six), "larger"},
      {"rank", Npy(Dictionary("<f4", "(1,1,1,1,1,1,1,1,1)"), "1234"), "rank 9"},
      {"no tuple", Npy(Dictionary("<f4", "6"), six), "a tuple"},
      {"short payload", good.substr(0, good.size() - 1), "23 bytes of elements"},
      {"long payload", good + "x", "25 bytes of elements"},
  };
  testing::ExpectRefused(files, "x.npy",
                         [](const std::string& content) { return Parse(content).status(); });
}

TEST(ReadNpy, RefusesEveryTruncationAndSurvivesEveryFlip) {
  const std::string good = Npy(Dictionary("<f4", "(2, 3)"), std::string(24, '\0'));
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(Parse(good.substr(0, length)).ok()) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      (void)Parse(bad);
    }
  }
}

TEST(WriteNpy, WritesWhatReadNpyReads) {
  TempDir dir;
  for (const DType dtype : kPlainDTypes) {
    SCOPED_TRACE(Name(dtype));
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 1, 3}}) {
      HostTensor tensor = HostTensor::Zeros(dtype, shape);
      for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, static_cast<double>(i));
      ASSERT_TRUE(WriteNpy(tensor, dir / "x.npy").ok());
      const auto read = ReadNpy(dir / "x.npy");
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(read->shape(), shape);
      for (int64_t i = 0; i < tensor.num_elements(); ++i) EXPECT_EQ(read->At(i), tensor.At(i));
    }
  }
}

TEST(WriteNpy, WritesNumpysOwnBytes) {
  // numpy.save of numpy.arange(3, dtype='<i4').
  std::string expected("\x93NUMPY\x01\x00v\x00", 10);
  expected += "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  expected.resize(127, ' ');
  expected += '\n' + BytesOf<int32_t>({0, 1, 2});
  TempDir dir;
  ASSERT_TRUE(
      WriteNpy(HostTensor::FromValues<int32_t>(DType::kInt32, {3}, {0, 1, 2}), dir / "x.npy").ok());
  EXPECT_EQ(ReadWholeFile(dir / "x.npy"), expected);
}

}  // namespace
}  // namespace ashlar

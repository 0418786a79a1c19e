#include "serialization/npy.h"

#include <cstring>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/file_writer.h"
#include "serialization/mapped_file.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct ElementType {
  const char* descr;  // NumPy's spelling
  DType dtype;
};

constexpr ElementType kElementTypes[] = {
    {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16},
    {"<i8", DType::kInt64},   {"<i4", DType::kInt32},   {"|i1", DType::kInt8},
    {"|u1", DType::kUint8},   {"|b1", DType::kBool},    {"<u2", DType::kUint16},
    {"<i2", DType::kInt16},   {"<u4", DType::kUint32},  {"<u8", DType::kUint64},
};

absl::StatusOr<ElementType> FindElementType(absl::string_view descr) {
  for (const ElementType& type : kElementTypes) {
    if (descr == type.descr) return type;
  }
  return Reject("element type '", descr.substr(0, 64),
                "', expected one of <f4 <f8 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1",
                descr.substr(0, 1) == ">" ? " (big-endian)" : "",
                descr.find('O') != absl::string_view::npos ? " (objects are never read)" : "");
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// A parser of a header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    if (!Take("{")) return Malformed("a dictionary");
    while (!Take("}")) {
      ASHLAR_ASSIGN_OR_RETURN(const std::string key, String());
      if (!Take(":")) return Malformed("':'");
      ASHLAR_RETURN_IF_ERROR(Value(key, header));
      if (!Take(",") && !Next('}')) return Malformed("',' or '}'");
    }
    SkipSpaces();
    if (!rest_.empty()) return Malformed("nothing more");
    if (keys_.size() != 3) {
      return Reject("header without 'descr', 'fortran_order' or 'shape'");
    }
    return header;
  }

 private:
  absl::Status Malformed(absl::string_view expected) const {
    return Reject("header: expected ", expected, " before '", rest_.substr(0, 32), "'");
  }
  void SkipSpaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Next(char c) {
    SkipSpaces();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(absl::string_view token) {
    SkipSpaces();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  absl::StatusOr<std::string> String() {
    if (!Next('\'') && !Next('"')) return Malformed("a string");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return Malformed("a closed string");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  absl::StatusOr<std::vector<int64_t>> Tuple() {
    std::vector<int64_t> values;
    if (!Take("(")) return Malformed("a tuple");
    while (!Take(")")) {
      SkipSpaces();
      const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      int64_t value = 0;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &value)) return Malformed("a dimension");
      rest_.remove_prefix(digits);
      values.push_back(value);
      if (!Take(",") && !Next(')')) return Malformed("',' or ')'");
    }
    return values;
  }

  absl::Status Value(const std::string& key, Header& header) {
    if (!keys_.insert(key).second) return Reject("header: key '", key.substr(0, 32), "' twice");
    if (key == "descr") {
      ASHLAR_ASSIGN_OR_RETURN(header.descr, String());
    } else if (key == "fortran_order") {
      header.fortran_order = Take("True");
      if (!header.fortran_order && !Take("False")) return Malformed("True or False");
    } else if (key == "shape") {
      ASHLAR_ASSIGN_OR_RETURN(header.shape, Tuple());
    } else {
      return Reject("header: unknown key '", key.substr(0, 32), "'");
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
  std::set<std::string> keys_;
};

// Splits the file into the text of its header and its elements.
absl::Status Split(absl::Span<const uint8_t> bytes, absl::string_view& header,
                   absl::Span<const uint8_t>& elements) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic) return Reject("not a .npy file");
  if (bytes.size() < 10) return Reject("truncated: ", bytes.size(), " bytes");
  const int major = bytes[6], minor = bytes[7];
  if ((major != 1 && major != 2) || minor != 0) {
    return Reject("version ", major, ".", minor, ", expected 1.0 or 2.0");
  }
  const size_t begin = major == 1 ? 10 : 12;
  if (bytes.size() < begin) return Reject("truncated: ", bytes.size(), " bytes");
  size_t length = bytes[8] | bytes[9] << 8;
  if (major == 2)
    length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > bytes.size() - begin) {
    return Reject("header of ", length, " bytes in a file of ", bytes.size());
  }
  header = text.substr(begin, length);
  elements = bytes.subspan(begin + length);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> Parse(absl::Span<const uint8_t> bytes) {
  absl::string_view text;
  absl::Span<const uint8_t> elements;
  ASHLAR_RETURN_IF_ERROR(Split(bytes, text, elements));
  ASHLAR_ASSIGN_OR_RETURN(const Header header, HeaderParser(text).Parse());
  ASHLAR_ASSIGN_OR_RETURN(const ElementType type, FindElementType(header.descr));
  if (header.fortran_order) return Reject("Fortran order, expected C order");
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(header.shape));
  const int64_t expected = shape.num_elements() * SizeOf(type.dtype);
  if (static_cast<int64_t>(elements.size()) != expected) {
    return Reject(elements.size(), " bytes of elements, shape ", shape.ToString(), " of ",
                  header.descr, " needs ", expected);
  }
  HostTensor tensor = HostTensor::Zeros(type.dtype, shape);
  if (expected > 0) std::memcpy(tensor.mutable_raw(), elements.data(), elements.size());
  return tensor;
}

const char* DescrOf(DType dtype) {
  for (const ElementType& type : kElementTypes) {
    if (type.dtype == dtype) return type.descr;
  }
  return dtype == DType::kBFloat16 ? "<f4" : "|u1";
}

}  // namespace

absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes, absl::string_view name) {
  absl::StatusOr<HostTensor> tensor = Parse(bytes);
  if (!tensor.ok()) return Annotate(tensor.status(), name);
  return tensor;
}

absl::StatusOr<HostTensor> ReadNpy(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::OpenLoaded(path));
  return ParseNpy(file->bytes(), path);
}

std::string NpyHeader(const HostTensor& tensor) {
  const Shape& shape = tensor.shape();
  std::string dictionary =
      absl::StrCat("{'descr': '", DescrOf(tensor.dtype()), "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape.dims(), ", "), shape.rank() == 1 ? "," : "", "), }");
  // Pads the header with spaces and a newline, so that elements start at a multiple of 64 bytes.
  const size_t end = 10 + dictionary.size() + 1;
  dictionary.append((end + 63) / 64 * 64 - end, ' ');
  dictionary += '\n';
  std::string header(kMagic.data(), kMagic.size());
  header += {'\x01', '\x00', static_cast<char>(dictionary.size() & 0xff),
             static_cast<char>(dictionary.size() >> 8)};
  return header + dictionary;
}

HostTensor AsNpyElements(const HostTensor& tensor) {
  if (tensor.dtype() != DType::kBFloat16) return tensor;
  HostTensor floats = HostTensor::Zeros(DType::kFloat32, tensor.shape());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) floats.Set(i, tensor.At(i));
  return floats;
}

absl::Status WriteNpy(const HostTensor& tensor, const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  const HostTensor elements = AsNpyElements(tensor);
  ASHLAR_RETURN_IF_ERROR(file->Write(NpyHeader(elements)));
  ASHLAR_RETURN_IF_ERROR(file->Write(elements.raw(), elements.bytes()));
  return file->Commit();
}

}  // namespace ashlar

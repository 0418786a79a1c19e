#include "codegen/c_text.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/mcu/initialiser.h"

namespace ashlar {
namespace {

struct ElementRow {
  DType stored;
  const char* type;
  std::string (*text)(const char* element);
};

template <typename T>
T Load(const char* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

template <typename T>
std::string IntegerText(const char* element) {
  const auto value = static_cast<int64_t>(Load<T>(element));
  // C has no literals for the smallest integers.
  if (value == INT64_MIN) return "(-9223372036854775807 - 1)";
  if (value == INT32_MIN && sizeof(T) == 4) return "(-2147483647 - 1)";
  return absl::StrCat(value);
}

std::string Uint64Text(const char* element) { return absl::StrCat(Load<uint64_t>(element), "u"); }
std::string Float32Text(const char* element) { return mcu::FloatText(Load<float>(element)); }
std::string Float64Text(const char* element) {
  return absl::StrFormat("%a", Load<double>(element));
}

constexpr ElementRow kElements[] = {
    {DType::kFloat32, "float", Float32Text},
    {DType::kFloat16, "uint16_t", IntegerText<uint16_t>},
    {DType::kBFloat16, "uint16_t", IntegerText<uint16_t>},
    {DType::kInt64, "int64_t", IntegerText<int64_t>},
    {DType::kInt32, "int32_t", IntegerText<int32_t>},
    {DType::kInt8, "int8_t", IntegerText<int8_t>},
    {DType::kUint8, "uint8_t", IntegerText<uint8_t>},
    {DType::kByte, "uint8_t", IntegerText<uint8_t>},
    {DType::kBool, "uint8_t", IntegerText<uint8_t>},
    {DType::kFloat64, "double", Float64Text},
    {DType::kUint16, "uint16_t", IntegerText<uint16_t>},
    {DType::kInt16, "int16_t", IntegerText<int16_t>},
    {DType::kUint32, "uint32_t", IntegerText<uint32_t>},
    {DType::kUint64, "uint64_t", Uint64Text},
};

const ElementRow& RowOf(DType dtype) {
  const DType stored = StoredAs(dtype);
  for (const ElementRow& row : kElements) {
    if (row.stored == stored) return row;
  }
  return kElements[0];
}

}  // namespace

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && absl::ascii_isalpha(text[0]) && IdentifierLike(text) == text;
}

std::string IdentifierLike(absl::string_view text) {
  std::string name;
  if (text.empty() || !absl::ascii_isalpha(text[0])) name = "m";
  for (const char c : text) name.push_back(absl::ascii_isalnum(c) ? c : '_');
  return name;
}

std::string Upper(absl::string_view text) { return absl::AsciiStrToUpper(text); }

absl::string_view ElementType(DType dtype) { return RowOf(dtype).type; }

std::string Elements(DType dtype, const void* data, int64_t count) {
  constexpr size_t kColumns = 100;
  const ElementRow& row = RowOf(dtype);
  const auto* const from = static_cast<const char*>(data);
  std::string text, line = "   ";
  for (int64_t i = 0; i < count; ++i) {
    const std::string element = row.text(from + i * SizeOf(dtype));
    if (line.size() + element.size() + 2 > kColumns) {
      absl::StrAppend(&text, line, "\n");
      line = "   ";
    }
    absl::StrAppend(&line, " ", element, i + 1 < count ? "," : "");
  }
  return absl::StrCat(text, line);
}

std::string CommentText(absl::string_view text) {
  std::string comment;
  for (const char c : text.substr(0, 80)) {
    comment.push_back(absl::ascii_isprint(c) && c != '\\' ? c : '_');
  }
  return comment;
}

}  // namespace ashlar

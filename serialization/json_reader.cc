#include "serialization/json_reader.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "graph/status.h"
#include "serialization/limits.h"
#include "serialization/mapped_file.h"

namespace ashlar {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownBytes = 64;  // of a key or value in a message

// The parser allocates for braces and brackets before it can refuse them, so they are counted
// first.
absl::Status CheckLimits(absl::string_view text, const JsonLimits& limits) {
  if (static_cast<int64_t>(text.size()) > limits.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.size(), " bytes, at most ", limits.bytes, " are read"));
  }
  int depth = 0;
  int64_t values = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    quoted = c == '"';
    const bool opens = c == '{' || c == '[';
    depth += opens;
    depth -= c == '}' || c == ']';
    values += opens || c == ',';
    if (depth > limits.depth) {
      return absl::InvalidArgumentError(
          absl::StrCat("byte ", i, ": nested deeper than ", limits.depth));
    }
    if (values > limits.values) {
      return absl::InvalidArgumentError(
          absl::StrCat("byte ", i, ": more than ", limits.values, " values"));
    }
  }
  return absl::OkStatus();
}

// Whether a key can be shown unchanged. Most can; this saves the time to escape them.
bool IsPlain(absl::string_view key) {
  return key.size() + 2 <= kShownBytes && std::all_of(key.begin(), key.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c)) && c != '"' && c != '\\';
         });
}

std::string Shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + "...";
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text, const JsonLimits& limits) {
  ASHLAR_RETURN_IF_ERROR(CheckLimits(text, limits));
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", error.byte, ": this is no JSON"));
  } catch (const Json::exception&) {  // e.g. a number out of range
    return absl::InvalidArgumentError("this is no JSON: a number is out of range");
  }
}

absl::StatusOr<Json> ReadJsonFile(const std::string& path, const JsonLimits& limits) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::OpenLoaded(path));
  const absl::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  absl::StatusOr<Json> document = ParseJson(text, limits);
  if (!document.ok()) return Annotate(document.status(), path);
  return document;
}

int ParseId(absl::string_view text) {
  int id = 0;
  const bool plain = absl::SimpleAtoi(text, &id) && absl::StrCat(id) == text;
  return plain && id >= 0 && id < kMaxId ? id : -1;
}

absl::Status JsonPlace::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat(path_.empty() ? "the document" : path_, ": ", what));
}

absl::Status JsonPlace::Expected(absl::string_view what) const {
  return Error(absl::StrCat("is ", Shown(*value_), ", expected ", what));
}

JsonPlace JsonPlace::Member(const std::string& key, const Json& value) const {
  const std::string name = IsPlain(key) ? key : Shown(Json(key));  // quoted and escaped
  return JsonPlace(value, path_.empty() ? name : absl::StrCat(path_, ".", name));
}

absl::StatusOr<JsonPlace> JsonPlace::Get(const char* key) const {
  if (!is_object()) return Expected("an object");
  const auto it = value_->find(key);
  if (it == value_->end()) return Error(absl::StrCat("key '", key, "' is missing"));
  return Member(key, *it);
}

absl::StatusOr<std::vector<std::pair<std::string, JsonPlace>>> JsonPlace::Members() const {
  if (!is_object()) return Expected("an object");
  std::vector<std::pair<std::string, JsonPlace>> members;
  for (const auto& [key, value] : value_->items()) members.emplace_back(key, Member(key, value));
  return members;
}

absl::StatusOr<std::vector<JsonPlace>> JsonPlace::Elements() const {
  if (!is_array()) return Expected("an array");
  std::vector<JsonPlace> elements;
  for (size_t i = 0; i < value_->size(); ++i) {
    elements.push_back(JsonPlace((*value_)[i], absl::StrCat(path_, "[", i, "]")));
  }
  return elements;
}

absl::StatusOr<std::string> JsonPlace::Text() const {
  if (!is_text()) return Expected("a text");
  return value_->get<std::string>();
}

absl::StatusOr<int64_t> JsonPlace::Integer() const {
  const bool fits =
      !value_->is_number_unsigned() || value_->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
  if (!is_integer() || !fits) return Expected("a whole number of 64 bits");
  return value_->get<int64_t>();
}

absl::StatusOr<int64_t> JsonPlace::Integer(int64_t least, int64_t greatest) const {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t value, Integer());
  if (value < least || value > greatest) {
    return Expected(absl::StrCat("a whole number from ", least, " to ", greatest));
  }
  return value;
}

absl::StatusOr<double> JsonPlace::Number() const {
  if (!value_->is_number() || !std::isfinite(value_->get<double>())) return Expected("a number");
  return value_->get<double>();
}

absl::StatusOr<bool> JsonPlace::Bool() const {
  if (!is_bool()) return Expected("true or false");
  return value_->get<bool>();
}

absl::StatusOr<int> JsonPlace::Id() const {
  const int id = is_text() ? ParseId(value_->get_ref<const std::string&>()) : -1;
  if (id < 0) return Expected(absl::StrCat("an id, a text of digits below ", kMaxId));
  return id;
}

absl::StatusOr<std::vector<int>> JsonPlace::Ids() const {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<JsonPlace> elements, Elements());
  std::vector<int> ids;
  for (const JsonPlace& element : elements) {
    ASHLAR_ASSIGN_OR_RETURN(const int id, element.Id());
    ids.push_back(id);
  }
  return ids;
}

}  // namespace ashlar

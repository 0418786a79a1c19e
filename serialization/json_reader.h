// Reads untrusted JSON, within limits; every error names its place in the document.
#ifndef ASHLAR_SERIALIZATION_JSON_READER_H_
#define ASHLAR_SERIALIZATION_JSON_READER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

struct JsonLimits {
  int64_t bytes = int64_t{64} << 20;
  int depth = 32;  // nesting of objects and arrays
  int64_t values =
      4 << 20;  // commas, braces and brackets; limits the memory that the document takes
};

// Returns InvalidArgument, which names `path`, and the byte offset if the text is not JSON or
// exceeds the limits.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path, const JsonLimits& limits = {});
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, const JsonLimits& limits = {});

// A value of a document and its path: "graph_exec.operator.621.input[1]". The document must outlive
// it. All errors are InvalidArgument and begin with the path.
class JsonPlace {
 public:
  explicit JsonPlace(const nlohmann::json& document) : value_(&document) {}

  const std::string& path() const { return path_; }
  absl::Status Error(absl::string_view what) const;

  bool is_null() const { return value_->is_null(); }
  bool is_text() const { return value_->is_string(); }
  bool is_array() const { return value_->is_array(); }
  bool is_object() const { return value_->is_object(); }
  bool is_bool() const { return value_->is_boolean(); }
  bool is_integer() const { return value_->is_number_integer(); }
  bool Has(const char* key) const { return value_->is_object() && value_->contains(key); }

  // Returns the member of an object, which must exist.
  absl::StatusOr<JsonPlace> Get(const char* key) const;
  // Return all members of an object, by key, or all elements of an array.
  absl::StatusOr<std::vector<std::pair<std::string, JsonPlace>>> Members() const;
  absl::StatusOr<std::vector<JsonPlace>> Elements() const;

  absl::StatusOr<std::string> Text() const;
  absl::StatusOr<int64_t> Integer() const;
  absl::StatusOr<int64_t> Integer(int64_t least, int64_t greatest) const;
  absl::StatusOr<double> Number() const;
  absl::StatusOr<bool> Bool() const;
  // Reads an id, which dumps write as a text of decimal digits.
  absl::StatusOr<int> Id() const;
  absl::StatusOr<std::vector<int>> Ids() const;

 private:
  JsonPlace(const nlohmann::json& value, std::string path)
      : value_(&value), path_(std::move(path)) {}
  JsonPlace Member(const std::string& key, const nlohmann::json& value) const;
  absl::Status Expected(absl::string_view what) const;

  const nlohmann::json* value_;
  std::string path_;
};

// Returns the number below kMaxId (serialization/limits.h) whose decimal digits are the text, or
// -1.
int ParseId(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_JSON_READER_H_

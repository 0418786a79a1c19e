// Writes JSON.
#ifndef ASHLAR_SERIALIZATION_JSON_FILE_H_
#define ASHLAR_SERIALIZATION_JSON_FILE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"

namespace ashlar {

// Returns the text of a document. Bytes that are not UTF-8 (names from files may contain any)
// become U+FFFD. `indent` < 0: one line.
std::string JsonText(const nlohmann::ordered_json& document, int indent);

// Writes the whole document or nothing.
absl::Status WriteJsonFile(const std::string& path, const nlohmann::ordered_json& document,
                           int indent);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_JSON_FILE_H_

#include "serialization/json_file.h"

#include "serialization/file_writer.h"

namespace ashlar {

std::string JsonText(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

absl::Status WriteJsonFile(const std::string& path, const nlohmann::ordered_json& document,
                           int indent) {
  return WriteFile(path, JsonText(document, indent));
}

}  // namespace ashlar

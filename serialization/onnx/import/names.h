// Text attributes whose value is one of several names.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_NAMES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_NAMES_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "serialization/onnx/import/node.h"

namespace ashlar {

// Returns the enum value of a text attribute. If the text is not in the list, reports an error and
// returns the first value.
template <typename Enum>
Enum OnnxNamed(OnnxNode& node, absl::string_view attribute, absl::string_view fallback,
               std::initializer_list<std::pair<const char*, Enum>> names) {
  const std::string text = node.Text(attribute, fallback);
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  node.Invalid(absl::StrCat(attribute, " is '", text.substr(0, 64), "'"));
  return names.begin()->second;
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_NAMES_H_

// Shortens names from a file for messages, because they may be of any length.
#ifndef ASHLAR_SERIALIZATION_ONNX_SHOWN_H_
#define ASHLAR_SERIALIZATION_ONNX_SHOWN_H_

#include <string>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace ashlar {

inline std::string Shown(absl::string_view name) {
  return std::string(name.substr(0, kLongestUncheckedName));
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_SHOWN_H_

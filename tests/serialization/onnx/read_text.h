// Reads a model in protobuf's text format (model_text.h).
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_READ_TEXT_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_READ_TEXT_H_

#include <string>

#include "serialization/onnx/import/reader.h"
#include "tests/serialization/onnx/model_text.h"

namespace ashlar::testing {

inline absl::StatusOr<Graph> ReadText(const std::string& text,
                                      const OnnxReadOptions& options = {}) {
  const std::string bytes = Serialized(text);
  return ReadOnnxFromBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m.onnx",
                           options);
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_READ_TEXT_H_

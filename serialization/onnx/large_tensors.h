// Finds the bytes of large tensors in an ONNX file, so that they are used where they lie in the
// file instead of being copied into messages. Walks protobuf's wire format (protobuf.dev,
// "Encoding") and nothing else of ONNX than the way to its tensors.
#ifndef ASHLAR_SERIALIZATION_ONNX_LARGE_TENSORS_H_
#define ASHLAR_SERIALIZATION_ONNX_LARGE_TENSORS_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace ashlar {

// The elements of a tensor: in raw_data, or little endian in float_data.
struct LargeTensor {
  absl::string_view bytes;
  bool is_float_data = false;
};

// A file without the elements of its large tensors.
struct OnnxFileParts {
  std::vector<absl::string_view> messages;  // the rest of the file, in order
  std::deque<std::string> lengths;          // of messages that became shorter
  std::map<int, LargeTensor> initializers;  // by index in the graph
  // By index of a Constant in the graph, and index of its attribute.
  std::map<std::pair<int, int>, LargeTensor> attributes;
};

// Brings the bytes that are read next into memory; false if that fails.
using LoadBytes = std::function<bool(absl::string_view)>;

// Finds tensors of at least `least_bytes`. Leaves a file as it is if it is damaged, cannot be
// loaded (`load`, unless it is empty), or has fields twice of which the last one counts.
OnnxFileParts FindLargeTensors(absl::string_view file, size_t least_bytes,
                               const LoadBytes& load = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_LARGE_TENSORS_H_

// The order of an ONNX graph's nodes.
#ifndef ASHLAR_SERIALIZATION_ONNX_ORDER_H_
#define ASHLAR_SERIALIZATION_ONNX_ORDER_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

namespace ashlar {

using OnnxNodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

struct OnnxOrder {
  std::vector<int> nodes;                 // needed for the outputs, producers first
  absl::flat_hash_set<std::string> read;  // names that these nodes read, and the outputs
};

// Keeps the order of the file if that is a valid order (Kahn 1962, with a heap of indices). Returns
// InvalidArgument for a value with two producers, and for cycles.
absl::StatusOr<OnnxOrder> OrderOf(const OnnxNodes& nodes, const std::vector<std::string>& outputs);

// Returns "node 'name' (Conv)", named after its first output if it has no name.
std::string DescribeOnnx(const onnx::NodeProto& node);
// Returns the node's name, or the name of its first output.
std::string NameOfOnnx(const onnx::NodeProto& node);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_ORDER_H_

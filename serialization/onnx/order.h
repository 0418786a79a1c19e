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
  std::vector<int> nodes;                 // those that the outputs need, producers first
  absl::flat_hash_set<std::string> read;  // the names that these read, and the outputs
};

// Nodes stay in the order of the file where that is one (Kahn 1962, by a heap of indices).
// InvalidArgument for a value that is made twice, and for nodes that need one another.
absl::StatusOr<OnnxOrder> OrderOf(const OnnxNodes& nodes, const std::vector<std::string>& outputs);

// "node 'name' (Conv)", by the first output where it has no name.
std::string DescribeOnnx(const onnx::NodeProto& node);
// Its name, or that of its first output.
std::string NameOfOnnx(const onnx::NodeProto& node);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_ORDER_H_

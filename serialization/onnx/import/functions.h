// Functions that an ONNX model defines; their calls are replaced by their bodies.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_FUNCTIONS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "serialization/onnx/order.h"

namespace ashlar {

class OnnxFunctions {
 public:
  // `model` must outlive this object.
  explicit OnnxFunctions(const onnx::ModelProto& model);
  // Returns the function that a node calls; null if it calls none.
  const onnx::FunctionProto* Find(const onnx::NodeProto& node) const;

 private:
  absl::flat_hash_map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
};

// Returns the nodes of a function for one call, with the call's attributes filled in. `given` says
// which inputs are present; absent inputs are absent inside too. Returns InvalidArgument if the
// call does not suit the function, Unimplemented if the function needs more than libonnx's schema
// knows.
absl::StatusOr<OnnxNodes> BodyOfCall(const onnx::FunctionProto& function,
                                     const onnx::NodeProto& call, const std::vector<bool>& given);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_FUNCTIONS_H_

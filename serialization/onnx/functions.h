// Functions that an ONNX model brings along, which are read as what they are made of.
#ifndef ASHLAR_SERIALIZATION_ONNX_FUNCTIONS_H_
#define ASHLAR_SERIALIZATION_ONNX_FUNCTIONS_H_

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
  // Of a model that outlives this.
  explicit OnnxFunctions(const onnx::ModelProto& model);
  // The function that a node calls; null where it calls none.
  const onnx::FunctionProto* Find(const onnx::NodeProto& node) const;

 private:
  absl::flat_hash_map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
};

// The nodes of a function for one call, with the call's attributes in the places that refer to
// them; `given` says which inputs there are, and those that are left out are left out inside as
// well. InvalidArgument where the call does not suit the function, Unimplemented where the function
// needs more than libonnx's schema knows.
absl::StatusOr<OnnxNodes> BodyOfCall(const onnx::FunctionProto& function,
                                     const onnx::NodeProto& call, const std::vector<bool>& given);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_FUNCTIONS_H_

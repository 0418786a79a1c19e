// The operator sets that an ONNX model or function imports.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_OPERATOR_SETS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_OPERATOR_SETS_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <onnx/onnx_pb.h>

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace ashlar {

// Returns "" for "ai.onnx", which is a synonym.
std::string OnnxDomain(const std::string& domain);

using OnnxOperatorSets = absl::flat_hash_map<std::string, int64_t>;  // versions by domain

// Returns Unimplemented for a version newer than all known ones.
absl::StatusOr<OnnxOperatorSets> OperatorSetsOf(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_OPERATOR_SETS_H_

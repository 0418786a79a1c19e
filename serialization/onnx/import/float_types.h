// Floats of 16 and 64 bits of a model, which is computed in Float32.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_FLOAT_TYPES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_FLOAT_TYPES_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serialization/onnx/import/import.h"
#include "serialization/onnx/import/read_options.h"

namespace ashlar {

// Converts vars of an import, and notes the types and operators that need it for the user.
class OnnxFloatTypes {
 public:
  // Both arguments must outlive it.
  OnnxFloatTypes(OnnxImport& import, const OnnxReadOptions& options)
      : import_(import), options_(options) {}

  // Notes a type that the file names.
  void Note(int onnx_type);
  // Returns the var as another float. All readers of a var share one conversion.
  absl::StatusOr<OnnxVar> Converted(OnnxVar var, DType dtype);
  // Makes Float32 of the Float64 among a node's inputs; returns whether there was any.
  absl::StatusOr<bool> Narrow(const std::string& op_type, std::vector<OnnxVar>& inputs);
  // Returns an output of the model, a float in the dtype of the type that the file declares.
  absl::StatusOr<OnnxVar> AsDeclared(const std::string& name, OnnxVar var, int onnx_type);
  // Passes the notes to the listeners of the options.
  void Tell() const;

 private:
  void Tell(const std::string& note) const;
  void TellOfInfinity(OnnxVar wide, OnnxVar narrow) const;

  OnnxImport& import_;
  const OnnxReadOptions& options_;
  std::set<std::string> converted_;  // names of types that become Float32
  std::set<std::string> narrowed_;   // operators that compute Float64 as Float32
  std::map<std::pair<OnnxVar, DType>, OnnxVar> conversions_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_FLOAT_TYPES_H_

// A case of ONNX's own node tests: a model of one operator, its inputs and its outputs.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_NODE_CASE_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_NODE_CASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/npz.h"

namespace ashlar::testing {

struct NodeCase {
  std::string name;
  std::string model;  // path
  InputTensors inputs;
  NamedTensors outputs;
  std::vector<double> tolerances;  // per output, relative to each element
};

// Reads a case's folder. Unimplemented if a tensor's type has no dtype.
absl::StatusOr<NodeCase> ReadNodeCase(const std::string& folder);

// The inputs of a case that are known before the run.
enum class KnownInputs {
  kShapeArguments,  // integers and scales that state a result's shape
  kAll,             // so everything is folded
};

enum class Outcome { kPassed, kRefused, kWrong };

struct NodeResult {
  Outcome outcome = Outcome::kPassed;
  std::string message;  // why it is refused or wrong
};

// Runs the case with the host references, and planned on the CPU. It passes if all outputs have the
// right shape, dtype (Float32 for all floats) and values; numbers of a generator that ONNX does not
// name are compared by their properties. The tolerance is 1e-3 of each element +
// 1e-7 (for 16-bit floats 2e-3 and 2e-2 of it). Refused means an Unimplemented error that names the
// operator.
NodeResult RunNodeCase(const NodeCase& test, KnownInputs known);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_NODE_CASE_H_

// A case of ONNX' own node tests: a model of one operator, its inputs and its outputs.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_NODE_CASE_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_NODE_CASE_H_

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
  std::vector<double> tolerances;  // of each output, of each element
};

// Reads a case's folder. Unimplemented where a tensor has a type without a dtype.
absl::StatusOr<NodeCase> ReadNodeCase(const std::string& folder);

// Which of a case's inputs are known before the run.
enum class KnownInputs {
  kShapeArguments,  // integers and scales that say what shape a result has
  kAll,             // so that everything is folded
};

enum class Outcome { kPassed, kRefused, kWrong };

struct NodeResult {
  Outcome outcome = Outcome::kPassed;
  std::string message;  // of what is refused or wrong
};

// Runs the case by the host references and on the CPU, planned. It passes where all outputs have
// the shape and dtype (Float32 for all floats) and are within the tolerance (1e-3; for 16-bit
// floats 2e-3 and 2e-2) of each element + 1e-7; refused is an Unimplemented that names the
// operator.
NodeResult RunNodeCase(const NodeCase& test, KnownInputs known);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_NODE_CASE_H_

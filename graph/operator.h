// The interface of operators for all code that does not know them by name.
//
// An Operator is a type with parameters: immutable, shared between graphs, without ids. Passes,
// planners and the executor use this interface; concrete operators are in opr/. Every operator has
// types, inference and evaluation. Further groups of functions have headers of their own, and
// defaults that are always right:
// graph/{memory_rules,rewrite_rules,tiling_rules,gradient_rules,quantization_rules}.h.
#ifndef ASHLAR_GRAPH_OPERATOR_H_
#define ASHLAR_GRAPH_OPERATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/gradient_rules.h"
#include "graph/memory_rules.h"
#include "graph/params.h"
#include "graph/quantization_rules.h"
#include "graph/rewrite_rules.h"
#include "graph/site.h"
#include "graph/tiling_rules.h"

namespace ashlar {

class Operator;
using OperatorPtr = std::shared_ptr<const Operator>;

// How an operator uses an input.
enum class InputUse {
  kDeviceValue,  // reads it during the run
  kHostValue,    // needs its value at compile time (the target of a Reshape)
  kShape,        // needs only its shape (GetVarShape)
};

// Why an operator is in the graph.
enum class Role {
  kCompute,
  kInput,     // output 0 is the caller's tensor
  kConstant,  // Evaluate returns its only output, without inputs
  kState,   // Evaluate returns the first value of its only output, which lives as long as a session
  kOutput,  // input 0 is passed to the caller
};

class Operator : public MemoryRules,
                 public QuantizationRules,
                 public TilingRules,
                 public GradientRules {
 public:
  virtual ~Operator() = default;

  // Returns MegEngine's class name: "ConvolutionForward".
  virtual absl::string_view type() const = 0;
  // Returns the prefix of generated names: "conv".
  virtual std::string base_name() const = 0;
  virtual ParamList params() const = 0;
  // Appends bytes that are equal, for operators of one type, only if their parameters are equal.
  virtual void AppendParams(std::string& bytes) const { bytes += ToString(params()); }

  virtual Role role() const { return Role::kCompute; }
  virtual InputUse input_use(int /*input*/) const { return InputUse::kDeviceValue; }

  // Returns the types of the outputs (format kDefault), or an error that names the input.
  virtual absl::StatusOr<std::vector<TensorType>> Infer(
      absl::Span<const InputInfo> inputs) const = 0;

  // Evaluates the operator on row-major host tensors that Infer accepts; sums in double. This is
  // the reference for all kernels.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const = 0;

  // Returns the number of scalar operations (a multiply and an add are two); 0 if MegEngine's
  // formula gives null.
  virtual int64_t Computation(const Site& /*site*/) const { return 0; }
  // Returns Computation() without the operations whose results the operator's padding removes. A
  // tile of a larger image removes what other tiles compute.
  virtual int64_t KeptComputation(const Site& site) const { return Computation(site); }
};

// Memory traffic in bytes and arithmetic in scalar operations, by MegEngine's opr_footprint
// formulas.
struct Footprint {
  int64_t memory = 0;
  int64_t computation = 0;
};

// Returns the bytes of device-value inputs (each occurrence) and outputs, as logical sizes, and
// Computation().
Footprint FootprintOf(const Operator& op, const Site& site);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_OPERATOR_H_

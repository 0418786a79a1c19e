// The interface of an operator to all code that does not know it by name.
//
// An Operator is a type with its parameters: immutable, shared between graphs, without ids. Passes,
// planners and the executor ask it through this interface; concrete operators live in opr/. Types,
// inference and evaluation every operator has; the groups of questions have headers of their own
// and defaults that are always right:
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

// The use that an operator makes of an input.
enum class InputUse {
  kDeviceValue,  // reads it when it runs
  kHostValue,    // needs its value when the graph is compiled (the target of a Reshape)
  kShape,        // needs only its shape (GetVarShape)
};

// Why an operator is in the graph.
enum class Role {
  kCompute,
  kInput,     // output 0 is the caller's tensor
  kConstant,  // Evaluate gives its one output, without inputs
  kState,     // Evaluate gives its one output as it is at first; it lives as long as a session
  kOutput,    // input 0 is handed to the caller
};

class Operator : public MemoryRules,
                 public QuantizationRules,
                 public TilingRules,
                 public GradientRules {
 public:
  virtual ~Operator() = default;

  // The class name in MegEngine: "ConvolutionForward".
  virtual absl::string_view type() const = 0;
  // The begin of automatic names: "conv".
  virtual std::string base_name() const = 0;
  virtual ParamList params() const = 0;

  virtual Role role() const { return Role::kCompute; }
  virtual InputUse input_use(int /*input*/) const { return InputUse::kDeviceValue; }

  // Types of the outputs (format kDefault), or an error that names the input.
  virtual absl::StatusOr<std::vector<TensorType>> Infer(
      absl::Span<const InputInfo> inputs) const = 0;

  // Reference evaluation on row-major host tensors that Infer accepts; sums in double.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const = 0;

  // Scalar operations (a multiply and an add are two); 0 where MegEngine's formula says null.
  virtual int64_t Computation(const Site& /*site*/) const { return 0; }
};

// Memory traffic in bytes and arithmetic in scalar operations, by the formulas of MegEngine's
// opr_footprint.
struct Footprint {
  int64_t memory = 0;
  int64_t computation = 0;
};

// Bytes of device-value inputs (each occurrence) and of outputs, logical sizes; and Computation().
Footprint FootprintOf(const Operator& op, const Site& site);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_OPERATOR_H_

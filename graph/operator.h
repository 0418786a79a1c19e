// What an operator is, to everything that does not know it by name.
//
// An Operator is a type with its parameters: immutable, shared between graphs, without ids. Passes,
// planners and the executor ask it through this interface; concrete operators live in opr/.
#ifndef ASHLAR_GRAPH_OPERATOR_H_
#define ASHLAR_GRAPH_OPERATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/params.h"
#include "graph/region.h"
#include "graph/shape.h"
#include "graph/tensor.h"

namespace ashlar {

class Operator;
using OperatorPtr = std::shared_ptr<const Operator>;

// What an operator does with an input.
enum class InputUse {
  kDeviceValue,  // reads it when it runs
  kHostValue,    // needs its value when the graph is compiled (the target of a Reshape)
  kShape,        // needs only its shape (GetVarShape)
};

// Why an operator is in the graph.
enum class Role {
  kCompute,
  kInput,     // output 0 is the caller's tensor
  kConstant,  // output 0 is constant()
  kOutput,    // input 0 is handed to the caller
};

// Which storage formats an operator can work in. Images are rank-4 tensors of floats; the image
// format is the device's choice: NCHW16c, NHCW16c or NHWC.
enum class FormatRule {
  kDefaultOnly,  // every input and output row-major
  kBlocked,  // best in the image format: output 0, input 0 and inputs of output 0's shape; where
             // that is blocked, input 0 may be row-major if it has less than a block of channels
  kFollow,   // pointwise: output 0 in the image format where an input is; row-major operands,
             // whatever they broadcast, may stay so
  kUniform,  // row-major throughout, or the image format throughout
  kUniformUnpadded,  // kUniform where the image format pads nothing (NHWC), else kDefaultOnly
};

// What becomes of an operator's Float32 tensors where a model is to run in 16-bit floats.
enum class PrecisionRule {
  kFloat32,  // they stay: sums and exponentials, whose range or precision 16 bits have not
  kLow,      // 16 bits, with sums in Float32: what it wins pays for casts
  kFollow,   // 16 bits where one of its inputs has them
};

// An input as shape inference sees it. `value` is null where the value is not known statically.
struct InputInfo {
  TensorType type;
  const HostTensor* value = nullptr;
};

// Memory traffic in bytes and arithmetic in scalar operations (multiply and add counted apart), by
// the formulas of MegEngine's opr_footprint.
struct Footprint {
  int64_t memory = 0;
  int64_t computation = 0;
};

// The output is the bytes of `input` from `offset` on (bytes), contiguous.
struct View {
  int input = 0;
  int64_t offset = 0;
};

// y = scale[c] * x + shift[c] for the channels c of dimension 1; x is input `input`.
struct ChannelAffine {
  int input = 0;
  std::vector<double> scale;
  std::vector<double> shift;
};

// An operand of a rewritten operator: an input of one of the operators it replaces, or a new
// constant.
struct Operand {
  enum class From { kProducer, kConsumer, kConstant };
  From from = From::kProducer;
  int input = 0;        // index among the inputs of that operator
  HostTensor constant;  // kConstant only
};

struct Replacement {
  OperatorPtr op;
  std::vector<Operand> operands;
};

// How static inference gets a tag (SHAPE or VALUE) of an output, as MegEngine registers it.
struct InferRule {
  enum class Source { kNone, kConstant, kMutable, kInputs };
  struct Dep {
    int input = 0;  // kOwnOutput: output 0 of the operator itself
    bool value = false;
  };
  static constexpr int kOwnOutput = -1;
  Source source = Source::kNone;
  std::vector<Dep> deps;  // kInputs only

  // Follows from the values of all inputs.
  static InferRule ValuesOf(int num_inputs);
};

class Operator {
 public:
  virtual ~Operator() = default;

  // The class name in MegEngine: "ConvolutionForward".
  virtual absl::string_view type() const = 0;
  // What automatic names begin with: "conv".
  virtual std::string base_name() const = 0;
  virtual ParamList params() const = 0;

  virtual Role role() const { return Role::kCompute; }
  virtual InputUse input_use(int /*input*/) const { return InputUse::kDeviceValue; }
  // Whether MegEngine gives it a scratch var as its last output.
  virtual bool has_workspace() const { return false; }
  // Whether MegEngine lets its outputs have no elements (VarFlag kAllowEmptyShape).
  virtual bool allows_empty_output() const { return false; }
  virtual FormatRule format_rule(absl::Span<const TensorType> /*inputs*/) const {
    return FormatRule::kDefaultOnly;
  }

  virtual PrecisionRule precision_rule() const { return PrecisionRule::kFloat32; }

  // Types of the outputs (without workspace; format kDefault), or what is wrong with the inputs.
  virtual absl::StatusOr<std::vector<TensorType>> Infer(
      absl::Span<const InputInfo> inputs) const = 0;

  // Reference evaluation on row-major host tensors that Infer accepts; sums in double.
  virtual absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const = 0;

  // Dependencies of the outputs' tags. Unless overridden a shape depends on all inputs' shapes (on
  // the value of host-value inputs), and only that of a constant has an inferred value.
  virtual InferRule shape_rule(int num_inputs) const;
  virtual InferRule value_rule(int num_inputs) const;

  // Scalar operations; 0 where MegEngine's formula says null.
  virtual int64_t Computation(absl::Span<const TensorType> /*inputs*/,
                              absl::Span<const TensorType> /*outputs*/) const {
    return 0;
  }

  // Output 0 as a view of an input, where its layout allows it. Formats count, and the values of
  // inputs that are used as kHostValue.
  virtual std::optional<View> ReadonlyForward(absl::Span<const InputInfo> /*inputs*/,
                                              absl::Span<const TensorType> /*outputs*/) const {
    return std::nullopt;
  }
  // Inputs that output 0 may overwrite when they die here, best first. Each has output 0's bytes.
  virtual std::vector<int> WritableForward(absl::Span<const TensorType> /*inputs*/,
                                           absl::Span<const TensorType> /*outputs*/) const {
    return {};
  }
  // The byte offset inside output 0 at which input i may be written by its own producer, so that
  // nothing is left to copy; nullopt where input i is not one contiguous part of output 0.
  virtual std::optional<int64_t> PlaceInput(int /*input*/, absl::Span<const TensorType> /*inputs*/,
                                            absl::Span<const TensorType> /*outputs*/) const {
    return std::nullopt;
  }

  // Fusion: the operator that does this one's work and that of `consumer`, whose input `via` is
  // this one's output 0. `inputs` and `consumer_inputs` are those of the two operators.
  virtual std::optional<Replacement> Absorb(const Operator& /*consumer*/, int /*via*/,
                                            absl::Span<const InputInfo> /*inputs*/,
                                            absl::Span<const InputInfo> /*consumer_inputs*/) const {
    return std::nullopt;
  }
  // The same for devices that compute such a pair in one kernel (PassContext::chains): a chain of
  // scalar functions, a product and what is added to it.
  virtual std::optional<Replacement> Chain(const Operator& /*consumer*/, int /*via*/,
                                           absl::Span<const InputInfo> /*inputs*/,
                                           absl::Span<const InputInfo> /*consumer_inputs*/) const {
    return std::nullopt;
  }
  // This operator as a channel-wise affine map of one input, where its coefficients are constant.
  virtual std::optional<ChannelAffine> AsChannelAffine(
      absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // This operator with `scale` and `shift` applied to its output by changed weights.
  virtual std::optional<Replacement> AbsorbAffine(const ChannelAffine& /*affine*/,
                                                  absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }

  // Tiling. By input, the region that a region of output 0 depends on, clipped to the input and
  // never empty; what it gives for inputs that are not device values has no meaning. nullopt where
  // the operator needs more than a part of a dimension that the region cuts: it then ends a tiled
  // segment.
  virtual std::optional<std::vector<Region>> InputRegions(
      const Region& /*output*/, absl::Span<const InputInfo> /*inputs*/,
      absl::Span<const TensorType> /*outputs*/) const {
    return std::nullopt;
  }
  // The reverse: the hull of the elements of output 0 that depend on a region of input `input`, not
  // clipped to the output and perhaps empty.
  virtual std::optional<Region> OutputRegion(int /*input*/, const Region& /*region*/,
                                             absl::Span<const InputInfo> /*inputs*/,
                                             absl::Span<const TensorType> /*outputs*/) const {
    return std::nullopt;
  }
  // Whether AtRegion reads an image where it lies in one that is larger in dimensions 2 and 3.
  virtual bool CropsInput(int /*input*/) const { return false; }
  // The operator that makes `output` of output 0 out of the regions `given` of the inputs: those
  // that InputRegions names, or larger ones where CropsInput allows it. Operands of the replacement
  // come from `this` (Operand::From::kProducer) or are constants. nullopt: this operator does it.
  virtual std::optional<Replacement> AtRegion(const Region& /*output*/,
                                              absl::Span<const Region> /*given*/,
                                              absl::Span<const InputInfo> /*inputs*/,
                                              absl::Span<const TensorType> /*outputs*/) const {
    return std::nullopt;
  }

  // The value of a Role::kConstant operator.
  virtual const HostTensor* constant() const { return nullptr; }
};

// Types in `infos`.
std::vector<TensorType> TypesOf(absl::Span<const InputInfo> infos);

// Bytes of device-value inputs (each occurrence) and of outputs, logical sizes; and Computation().
Footprint FootprintOf(const Operator& op, absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_OPERATOR_H_

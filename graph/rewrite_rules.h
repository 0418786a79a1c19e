// Operators that may replace an operator, alone or together with its consumers. Part of the
// Operator interface.
#ifndef ASHLAR_GRAPH_REWRITE_RULES_H_
#define ASHLAR_GRAPH_REWRITE_RULES_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/site.h"
#include "graph/tensor.h"

namespace ashlar {

class GraphBuilder;
class Operator;

// An operand of a rewritten operator: an input of a replaced operator, or a new constant; for
// TilingRules::JoinRows also the result for the rows before.
struct Operand {
  enum class From { kProducer, kConsumer, kConstant, kBefore };
  From from = From::kProducer;
  int input = 0;        // index among the inputs of that operator
  HostTensor constant;  // kConstant only
};

struct Replacement {
  std::shared_ptr<const Operator> op;
  std::vector<Operand> operands;
};

// y = scale[c] * x + shift[c] for the channels c of dimension 1; x is input `input`.
struct ChannelAffine {
  int input = 0;
  std::vector<double> scale;
  std::vector<double> shift;
};

// The elements of input 0 in another order or shape. Axis i of the output is axis axes[i] of the
// input. Empty `axes`: the elements stay in row-major order.
struct Movement {
  std::vector<int64_t> axes;
  bool of_any_shape = false;  // gives the same for the same elements under another shape
};

// An operator without its final clamp, and the bounds of that clamp.
struct Unclamped {
  std::shared_ptr<const Operator> op;
  double low = 0, high = 0;
};

// An operator that is the only reader of another's only output, as its input `via`.
struct Consumer {
  const Operator& op;
  int via = 0;
  absl::Span<const InputInfo> inputs;
};

// By default, an operator has no composition and absorbs nothing. `inputs` are always its own.
class RewriteRules {
 public:
  // Adds operators that compute this operator's outputs to `builder`, and returns the vars of the
  // outputs. Empty if it has no composition. Devices without a kernel for the operator run these
  // instead.
  virtual absl::StatusOr<std::vector<int>> Compose(GraphBuilder& /*builder*/,
                                                   absl::Span<const int> /*inputs*/) const {
    return std::vector<int>();
  }
  // Returns an operator that does the work of this operator and of `consumer`.
  virtual std::optional<Replacement> Absorb(absl::Span<const InputInfo> /*inputs*/,
                                            const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // Like Absorb, for devices that compute such a pair in one kernel (PassContext::chains): a chain
  // of scalar functions, or a product and its addend.
  virtual std::optional<Replacement> Chain(absl::Span<const InputInfo> /*inputs*/,
                                           const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // Like Absorb, for devices whose convolutions add quantised tensors before they round their sums
  // (PassContext::quantized_sums).
  virtual std::optional<Replacement> AbsorbQuantized(absl::Span<const InputInfo> /*inputs*/,
                                                     const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // Returns this operator as a channel-wise affine map of one input, if its coefficients are
  // constant.
  virtual std::optional<ChannelAffine> AsChannelAffine(
      absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // Returns this operator as a movement of all elements of input 0; its other inputs are constant.
  virtual std::optional<Movement> AsMovement(absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // Returns this operator, which reads the elements of an image as input 0, as one that reads the
  // image itself: its output has the same elements. Axis i of the image in the order of these
  // elements is axis axes[i] of `image`, if there are `axes`.
  virtual std::optional<Replacement> ReadingImage(absl::Span<const InputInfo> /*inputs*/,
                                                  const Shape& /*image*/,
                                                  absl::Span<const int64_t> /*axes*/) const {
    return std::nullopt;
  }
  // Returns whether each output element depends on one element of every input, at the same position
  // after broadcasting.
  virtual bool is_pointwise() const { return false; }
  // Returns this operator with changed weights, so that `scale` and `shift` are applied to its
  // output.
  virtual std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> /*inputs*/,
                                                  const ChannelAffine& /*affine*/) const {
    return std::nullopt;
  }
  // Returns this operator without its final clamp, if a consumer can clamp instead.
  virtual std::optional<Unclamped> WithoutClamp(absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // Returns this operator with a clamp of input `input` while reading it, if this costs devices
  // with PassContext::chains almost nothing; otherwise null.
  virtual std::shared_ptr<const Operator> ClampingInput(absl::Span<const InputInfo> /*inputs*/,
                                                        int /*input*/, double /*low*/,
                                                        double /*high*/) const {
    return nullptr;
  }

 protected:
  ~RewriteRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_REWRITE_RULES_H_

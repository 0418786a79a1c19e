// The operators that may replace an operator, alone or together with the operators behind it: one
// of the groups of questions that an Operator answers.
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

// An operand of a rewritten operator: an input of one of the operators it replaces, or a new
// constant.
struct Operand {
  enum class From { kProducer, kConsumer, kConstant };
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
// input; without axes the elements stay in row-major order.
struct Movement {
  std::vector<int64_t> axes;
  bool of_any_shape = false;  // makes the same of the same elements under another shape
};

// An operator without the bounds between which it brings its output last.
struct Unclamped {
  std::shared_ptr<const Operator> op;
  double low = 0, high = 0;
};

// An operator that alone reads the one output of another, as its input `via`.
struct Consumer {
  const Operator& op;
  int via = 0;
  absl::Span<const InputInfo> inputs;
};

// Unless overridden, an operator is made of no others and takes nothing in. `inputs` are always its
// own.
class RewriteRules {
 public:
  // This operator made of others, which are added to `builder`: their vars that stand for its
  // outputs. Empty where it is made of nothing. Devices without a kernel for it run these instead.
  virtual absl::StatusOr<std::vector<int>> Compose(GraphBuilder& /*builder*/,
                                                   absl::Span<const int> /*inputs*/) const {
    return std::vector<int>();
  }
  // The operator that does this one's work and that of `consumer`.
  virtual std::optional<Replacement> Absorb(absl::Span<const InputInfo> /*inputs*/,
                                            const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // The same for devices that compute such a pair in one kernel (PassContext::chains): a chain of
  // scalar functions, a product and its addend.
  virtual std::optional<Replacement> Chain(absl::Span<const InputInfo> /*inputs*/,
                                           const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // The same for devices that add quantised tensors where a convolution rounds its sums
  // (PassContext::quantized_sums).
  virtual std::optional<Replacement> AbsorbQuantized(absl::Span<const InputInfo> /*inputs*/,
                                                     const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // This operator as a channel-wise affine map of one input, where its coefficients are constant.
  virtual std::optional<ChannelAffine> AsChannelAffine(
      absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // This operator as a movement of the elements of input 0, all of them; its other inputs are
  // constant.
  virtual std::optional<Movement> AsMovement(absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // Whether each element of the output is made of one element of every input, at the same place
  // once the inputs are broadcast.
  virtual bool is_pointwise() const { return false; }
  // This operator with `scale` and `shift` applied to its output by changed weights.
  virtual std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> /*inputs*/,
                                                  const ChannelAffine& /*affine*/) const {
    return std::nullopt;
  }
  // This operator where it brings its output between bounds last, and another could as it reads.
  virtual std::optional<Unclamped> WithoutClamp(absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // This operator on an input `input` that it brings between bounds as it reads it, where that
  // costs devices with PassContext::chains next to nothing; null where not.
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

// What an operator can take in of the operators behind it: one of the groups of questions that an
// Operator answers.
#ifndef ASHLAR_GRAPH_FUSION_H_
#define ASHLAR_GRAPH_FUSION_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/site.h"
#include "graph/tensor.h"

namespace ashlar {

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

// An operator that alone reads the one output of another, as its input `via`.
struct Consumer {
  const Operator& op;
  int via = 0;
  absl::Span<const InputInfo> inputs;
};

// Unless overridden, an operator takes nothing in. `inputs` are always its own.
class FusionRules {
 public:
  // The operator that does this one's work and that of `consumer`.
  virtual std::optional<Replacement> Absorb(absl::Span<const InputInfo> /*inputs*/,
                                            const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // The same for devices that compute such a pair in one kernel (PassContext::chains): a chain of
  // scalar functions, a product and what is added to it.
  virtual std::optional<Replacement> Chain(absl::Span<const InputInfo> /*inputs*/,
                                           const Consumer& /*consumer*/) const {
    return std::nullopt;
  }
  // This operator as a channel-wise affine map of one input, where its coefficients are constant.
  virtual std::optional<ChannelAffine> AsChannelAffine(
      absl::Span<const InputInfo> /*inputs*/) const {
    return std::nullopt;
  }
  // This operator with `scale` and `shift` applied to its output by changed weights.
  virtual std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> /*inputs*/,
                                                  const ChannelAffine& /*affine*/) const {
    return std::nullopt;
  }

 protected:
  ~FusionRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_FUSION_H_

// How an operator of floats computes with integers of 8 bits: one of the groups of questions that
// an Operator answers.
#ifndef ASHLAR_GRAPH_QUANTIZATION_RULES_H_
#define ASHLAR_GRAPH_QUANTIZATION_RULES_H_

#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/rewrite_rules.h"
#include "graph/site.h"

namespace ashlar {

enum class QuantizationRule {
  kFloats,   // it has no operator of 8 bits (one that moves bytes of any type needs none)
  kLeads,    // its weights in 8 bits pay for conversions around it
  kFollows,  // 8 bits where an input has them
};

struct QuantizationChoice {
  TensorType output;               // of 8 bits
  bool weights_by_channel = true;  // a scale for each output channel
};

// Numbers from `least` to `most`.
struct ValueRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// Unless overridden, an operator computes with floats. Asked of operators with one output only.
// Models of 8 bits are made by rewriting: these are further questions of that group.
class QuantizationRules : public RewriteRules {
 public:
  virtual QuantizationRule quantization_rule(const Site& /*site*/) const {
    return QuantizationRule::kFloats;
  }
  // Adds what makes `choice.output` of these inputs, in 8 bits what is computed when it runs and
  // constants in floats: the var that stands for the operator's output. Not asked of kFloats.
  virtual absl::StatusOr<int> MakeQuantized(GraphBuilder& /*builder*/,
                                            absl::Span<const int> /*inputs*/,
                                            const QuantizationChoice& /*choice*/) const {
    return absl::UnimplementedError("it has no operator of 8 bits");
  }
  // Where the operator clamps its input: a type of no values outside does the same by saturation.
  virtual std::optional<ValueRange> Saturation() const { return std::nullopt; }

  // Whether positive scales of the channels (dimension 1) of its inputs are those of its output.
  virtual bool KeepsChannelScales(const Site& /*site*/) const { return false; }
  // By channel of input 0, how large its weights are: the largest share of the largest weight of a
  // sum. 0 where sums are of that channel alone. Empty where it has no such weights.
  virtual std::vector<double> ChannelShares(absl::Span<const InputInfo> /*inputs*/) const {
    return {};
  }
  // The operator that makes of input 0 what this one makes of input 0 times `scales`, by channel.
  virtual std::optional<Replacement> AbsorbInputScales(absl::Span<const InputInfo> /*inputs*/,
                                                       absl::Span<const double> /*scales*/) const {
    return std::nullopt;
  }

 protected:
  ~QuantizationRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_QUANTIZATION_RULES_H_

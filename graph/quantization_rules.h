// How a floating-point operator computes with 8-bit integers. Part of the Operator interface.
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
  kFloats,   // no 8-bit operator (one that moves bytes of any type needs none)
  kLeads,    // its 8-bit weights justify conversions around it
  kFollows,  // 8 bits if an input has them
};

struct QuantizationChoice {
  TensorType output;               // of 8 bits
  bool weights_by_channel = true;  // one scale per output channel
};

// The numbers from `least` to `most`, both included.
struct ValueRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// By default an operator computes with floats. Called for operators with one output only. 8-bit
// models are made by rewriting, so these functions extend RewriteRules.
class QuantizationRules : public RewriteRules {
 public:
  virtual QuantizationRule quantization_rule(const Site& /*site*/) const {
    return QuantizationRule::kFloats;
  }
  // Adds operators that compute `choice.output` from these inputs: 8-bit for inputs computed during
  // the run, floats for constants. Returns the var that replaces the operator's output. Not called
  // for kFloats.
  virtual absl::StatusOr<int> MakeQuantized(GraphBuilder& /*builder*/,
                                            absl::Span<const int> /*inputs*/,
                                            const QuantizationChoice& /*choice*/) const {
    return absl::UnimplementedError("it has no operator of 8 bits");
  }
  // Returns the range to which the operator clamps its input. An output type without values outside
  // the range clamps by saturation.
  virtual std::optional<ValueRange> Saturation() const { return std::nullopt; }

  // Returns whether positive scales of the input's channels (dimension 1) are scales of the
  // output's channels.
  virtual bool KeepsChannelScales(const Site& /*site*/) const { return false; }
  // Returns for each channel of input 0 how large its weights are: the largest share that a weight
  // has of the largest weight of its sum. 0 if sums read this channel only. Empty if the operator
  // has no such weights.
  virtual std::vector<double> ChannelShares(absl::Span<const InputInfo> /*inputs*/) const {
    return {};
  }
  // Returns an operator that computes from input 0 what this operator computes from input 0 times
  // `scales`, per channel.
  virtual std::optional<Replacement> AbsorbInputScales(absl::Span<const InputInfo> /*inputs*/,
                                                       absl::Span<const double> /*scales*/) const {
    return std::nullopt;
  }

 protected:
  ~QuantizationRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_QUANTIZATION_RULES_H_

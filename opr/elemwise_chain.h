// ElemwiseChain: scalar functions applied one after the other, in one pass over memory.
#ifndef ASHLAR_OPR_ELEMWISE_CHAIN_H_
#define ASHLAR_OPR_ELEMWISE_CHAIN_H_

#include "opr/elemwise.h"

namespace ashlar {

// Step s applies the scalar function `mode[s]` (by its number) to a[s], b[s] and c[s] (parallel
// vectors): an input by its index, or kChained, which is the value of the step before; in the first
// step input 0. A function's parameters are inputs, too, behind its tensors; arguments beyond them
// are kChained.
struct ElemwiseChainParam {
  static constexpr int64_t kChained = -1;
  std::vector<int64_t> mode, a, b, c;

  template <typename V>
  void Visit(V& v) {
    v("mode", mode);
    v("a", a);
    v("b", b);
    v("c", c);
  }
  size_t steps() const { return mode.size(); }
};

// Floats of one dtype that broadcast to the output's shape. Values between two steps are not
// rounded to the dtype. No model has such a node: it is made by a pass, for devices that run it.
class ElemwiseChain final : public OperatorWithParam<ElemwiseChainParam> {
 public:
  static constexpr size_t kMaxInputs = 7, kMaxSteps = 12;

  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "ElemwiseChain"; }
  std::string base_name() const override { return "chain"; }
  // That of the last step: what is before it is never stored.
  PrecisionRule precision_rule() const override;
  FormatRule format_rule(absl::Span<const TensorType> inputs) const override;
  bool allows_empty_output() const override { return true; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::vector<int> WritableForward(absl::Span<const TensorType> inputs,
                                   absl::Span<const TensorType> outputs) const override;
  std::optional<Replacement> Chain(const Operator& consumer, int via,
                                   absl::Span<const InputInfo> inputs,
                                   absl::Span<const InputInfo> consumer_inputs) const override;
};

// Operator::Chain of Elemwise and of ElemwiseChain: `producer` and the Elemwise or ElemwiseChain
// that reads it. The producer's output has the shape of the consumer's; Float32 only, as casts come
// later.
std::optional<Replacement> ChainElemwise(const Operator& producer, const Operator& consumer,
                                         int via, absl::Span<const InputInfo> inputs,
                                         absl::Span<const InputInfo> consumer_inputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_CHAIN_H_

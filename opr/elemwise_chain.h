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
class ElemwiseChain final : public OperatorWithParam<ElemwiseChainParam, PointwiseOperator> {
 public:
  static constexpr size_t kMaxInputs = 7, kMaxSteps = 12;

  ASHLAR_OPERATOR("ElemwiseChain", "chain")
  // The dtype of the last step: results before it are never stored.
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  std::optional<Replacement> Chain(absl::Span<const InputInfo> inputs,
                                   const Consumer& consumer) const override;
};

// RewriteRules::Chain of Elemwise and of ElemwiseChain: `producer` and the Elemwise or
// ElemwiseChain that reads it. The producer's output has the shape of the consumer's; Float32 only,
// as casts come later.
std::optional<Replacement> ChainElemwise(const Operator& producer,
                                         absl::Span<const InputInfo> inputs,
                                         const Consumer& consumer);

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_CHAIN_H_

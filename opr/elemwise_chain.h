// ElemwiseChain: applies scalar functions one after the other, in one pass over memory.
#ifndef ASHLAR_OPR_ELEMWISE_CHAIN_H_
#define ASHLAR_OPR_ELEMWISE_CHAIN_H_

#include "opr/elemwise.h"

namespace ashlar {

// Step s applies the scalar function number `mode[s]` to a[s], b[s] and c[s] (parallel vectors).
// Each is the index of an input, or kChained: the value of the previous step, in the first step
// input 0. A function's parameters are inputs, too, after its tensors; unused arguments are
// kChained.
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
// rounded to the dtype. Models do not contain this node: a pass creates it for devices that run it.
class ElemwiseChain final : public OperatorWithParam<ElemwiseChainParam, PointwiseOperator> {
 public:
  static constexpr size_t kMaxInputs = 7, kMaxSteps = 12;

  ASHLAR_OPERATOR("ElemwiseChain", "chain")
  // Uses the precision of the last step: earlier results are never stored.
  StorageRules storage_rules(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  std::optional<Replacement> Chain(absl::Span<const InputInfo> inputs,
                                   const Consumer& consumer) const override;
};

// RewriteRules::Chain of Elemwise and ElemwiseChain: joins `producer` with the Elemwise or
// ElemwiseChain that reads it. Both outputs must have the same shape. Float32 only, because casts
// are added later.
std::optional<Replacement> ChainElemwise(const Operator& producer,
                                         absl::Span<const InputInfo> inputs,
                                         const Consumer& consumer);

}  // namespace ashlar

#endif  // ASHLAR_OPR_ELEMWISE_CHAIN_H_

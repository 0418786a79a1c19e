// Attention: scaled dot products of queries with keys; their softmax weighs the values.
#ifndef ASHLAR_OPR_ATTENTION_H_
#define ASHLAR_OPR_ATTENTION_H_

#include "opr/base/regions.h"

namespace ashlar {

struct AttentionParam {
  double scale = 1;     // of the products
  bool causal = false;  // query i sees the keys up to i + offset; otherwise all keys
  int64_t offset = 0;
  bool zero_nan = false;  // a query whose weights are not numbers gives zeros

  template <typename V>
  void Visit(V& v) {
    v("scale", scale);
    v("causal", causal);
    v.Optional("offset", offset, int64_t{0});
    v.Optional("zero_nan", zero_nan, false);
  }
};

// Sizes that follow from parameters and shapes.
struct AttentionGeometry {
  int64_t batch = 0;
  int64_t heads = 0, key_heads = 0;  // each key head serves heads / key_heads neighbouring heads
  int64_t queries = 0, keys = 0;
  int64_t depth = 0, width = 0;  // of queries and keys; of values

  // Returns how many keys query i may see.
  int64_t Seen(const AttentionParam& param, int64_t i) const;
};

// Inputs, floats of one dtype: queries [N, heads, queries, depth], keys [N, key_heads, keys,
// depth], values [N, key_heads, keys, width], and optionally a mask. The mask is added to the
// products and broadcasts to [N, heads, queries, keys]; -inf hides a key. Output: [N, heads,
// queries, width]; zeros if all keys are hidden.
class Attention final : public OperatorWithParam<AttentionParam> {
 public:
  static constexpr int kQueries = 0, kKeys = 1, kValues = 2, kMask = 3;

  ASHLAR_OPERATOR("Attention", "attention")
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kLow};
  }
  int64_t Computation(const Site& site) const override;
  // Cuts along images and queries.
  ASHLAR_CUTS_OUTPUT()
  // Two matrix products with a softmax in between.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;

  static absl::StatusOr<AttentionGeometry> GeometryOf(absl::Span<const TensorType> inputs);
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ATTENTION_H_

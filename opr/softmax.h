// Softmax along one axis.
#ifndef ASHLAR_OPR_SOFTMAX_H_
#define ASHLAR_OPR_SOFTMAX_H_

#include "opr/base.h"

namespace ashlar {

struct SoftmaxParam {
  int64_t axis = -1;  // negative: from the last dimension

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// exp(x - max) / sum of exp(x - max), maximum and sum along the axis. Input: floats of any shape of
// rank 1 or more. Output: Float32, whatever the input's dtype.
class Softmax final : public OperatorWithParam<SoftmaxParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Softmax"; }
  std::string base_name() const override { return "softmax"; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  std::vector<int> WritableForward(absl::Span<const TensorType> inputs,
                                   absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SOFTMAX_H_

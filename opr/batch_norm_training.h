// BatchNormTraining and BatchNormBackward: normalisation by the statistics of the batch itself, and
// its gradient (Ioffe and Szegedy 2015, "Batch Normalization"). BatchNormStatistics and
// BatchNormApply are the two steps of BatchNormTraining; the second is recomputed if memory is
// short.
#ifndef ASHLAR_OPR_BATCH_NORM_TRAINING_H_
#define ASHLAR_OPR_BATCH_NORM_TRAINING_H_

#include <limits>

#include "opr/batch_norm.h"

namespace ashlar {

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel of dimension 1. Mean
// and biased variance are over all elements of a channel. Inputs: x [N, C, ...], floats; scale and
// bias, each [C] or [1, C, 1, ...] of x's rank. Outputs: y, of x's shape; mean and variance, [1, C,
// 1, ...].
class BatchNormTraining final : public OperatorWithParam<BatchNormParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2;
  static constexpr int kY = 0, kMean = 1, kVariance = 2;

  ASHLAR_OPERATOR("BatchNormTraining", "batch_norm")
  // Computes statistics, then normalises with them: the same to the last bit.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
};

// BatchNormTraining's mean and variance of x.
class BatchNormStatistics final : public OperatorWithParam<NoParam> {
 public:
  static constexpr int kMean = 0, kVariance = 1;

  ASHLAR_OPERATOR("BatchNormStatistics", "batch_norm_statistics")
  // Sums x, then the squares of x - mean.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs};
  }
  int64_t Computation(const Site& site) const override;
};

// Returns the upper bound for a value of `most` in the parameters below.
inline double UpperBound(double most) {
  return most > 0 ? most : std::numeric_limits<double>::infinity();
}

struct BatchNormApplyParam {
  double epsilon = 1e-5;
  bool rectified = false;  // values below 0 become 0
  double most = 0;         // values above become this; 0: no upper bound

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
    v("rectified", rectified);
    v("most", most);
  }
};

// BatchNormTraining's y, optionally plus a tensor of its type, and then a ReLU or a clamp from 0.
// Inputs: x, scale and bias of BatchNormTraining; its mean and variance; the addend, if any.
class BatchNormApply final : public OperatorWithParam<BatchNormApplyParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kAddend = 5;

  ASHLAR_OPERATOR("BatchNormApply", "batch_norm_apply")
  // Absorbs a following addition, activation, or both. When y is recomputed, each of these would
  // read and write it once more.
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  int64_t Computation(const Site& site) const override;
  // y may overwrite x or the addend.
  Aliasing aliasing(const Site& site) const override;
};

struct BatchNormBackwardParam {
  double epsilon = 1e-5;
  double most = 0;  // the upper bound of an activation after the norm; 0: none

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
    v("most", most);
  }
};

// Inputs: x, the gradient of y, mean and variance from BatchNormTraining, scale. Outputs: the
// gradients of x, and of scale and bias, both of scale's shape:
//   dscale = sum of diff * xhat, dbias = sum of diff,
//   dX = scale / deviation * (diff - dbias / count - xhat * dscale / count)
// with the normalised x xhat, deviation = sqrt(variance + epsilon) and count, the elements of a
// channel. If the norm's bias is another input, diff is the gradient after a ReLU of y, or after a
// clamp from 0 to `most`. It then counts only if the recomputed y is above 0 and below `most`.
class BatchNormBackward final : public OperatorWithParam<BatchNormBackwardParam> {
 public:
  static constexpr int kX = 0, kDiff = 1, kMean = 2, kVariance = 3, kScale = 4, kBias = 5;
  static constexpr int kDX = 0, kDScale = 1, kDBias = 2;

  ASHLAR_OPERATOR("BatchNormBackward", "batch_norm_grad")
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  int64_t Computation(const Site& site) const override;
  // dX may overwrite diff or x: the sums are complete before its first element is written.
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BATCH_NORM_TRAINING_H_

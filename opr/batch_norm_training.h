// BatchNormTraining and BatchNormBackward: normalisation by the statistics of the batch itself, and
// its gradient (Ioffe and Szegedy 2015, "Batch Normalization"). BatchNormStatistics and
// BatchNormApply are the former's two halves, of which the second is made again where memory is
// short.
#ifndef ASHLAR_OPR_BATCH_NORM_TRAINING_H_
#define ASHLAR_OPR_BATCH_NORM_TRAINING_H_

#include <limits>

#include "opr/batch_norm.h"

namespace ashlar {

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel of dimension 1, with
// the mean and the biased variance of all elements of a channel. Inputs: x [N, C, ...], floats;
// scale and bias, each [C] or [1, C, 1, ...] of x's rank. Outputs: y, of x's shape; mean and
// variance, [1, C, 1, ...].
class BatchNormTraining final : public OperatorWithParam<BatchNormParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2;
  static constexpr int kY = 0, kMean = 1, kVariance = 2;

  ASHLAR_OPERATOR("BatchNormTraining", "batch_norm")
  // Statistics, then the normalisation with them: the same to the last bit.
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
  // Sums of x, then of the squares of what is left when the mean is gone.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs};
  }
  int64_t Computation(const Site& site) const override;
};

// The upper bound that `most` of the parameters below stands for.
inline double UpperBound(double most) {
  return most > 0 ? most : std::numeric_limits<double>::infinity();
}

struct BatchNormApplyParam {
  double epsilon = 1e-5;
  bool rectified = false;  // nothing below 0 is left
  double most = 0;         // nor above this; 0: it has no bound

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
    v("rectified", rectified);
    v("most", most);
  }
};

// BatchNormTraining's y, perhaps with a tensor of its type added, then behind a ReLU or a clamp at
// 0. Inputs: its x, scale and bias; mean and variance as it gives them; the addend, if any.
class BatchNormApply final : public OperatorWithParam<BatchNormApplyParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kAddend = 5;

  ASHLAR_OPERATOR("BatchNormApply", "batch_norm_apply")
  // An addition or an activation behind it, or both: where y is made again, each of them would
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
  double most = 0;  // the upper bound of an activation behind the norm; 0: it has none

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
    v("most", most);
  }
};

// Inputs: x, the gradient of y, mean and variance as BatchNormTraining gives them, scale. Outputs:
// the gradients of x, and of scale and bias, both of scale's shape:
//   dscale = sum of diff * xhat, dbias = sum of diff,
//   dX = scale / deviation * (diff - dbias / count - xhat * dscale / count)
// where xhat is x normalised, deviation = sqrt(variance + epsilon) and count the elements of a
// channel. With the norm's bias as another input, diff is the gradient behind a ReLU of y, or a
// clamp from 0 to `most`: it counts where y, made again, is above 0 and below that.
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

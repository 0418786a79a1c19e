// PoolingIndex and PoolingIndexBackward: where the largest element of each window is, in a byte,
// and the gradient of the image by that: what was pooled need not be kept.
#ifndef ASHLAR_OPR_POOLING_INDEX_H_
#define ASHLAR_OPR_POOLING_INDEX_H_

#include "opr/pooling_backward.h"

namespace ashlar {

// Windows of maxima whose places a byte tells apart.
bool HasPoolingIndex(const PoolingParam& param);

// Input: src as PoolingForward reads it. Output, Uint8 [N, C, oh, ow]: the number of the first
// maximum (the first NaN where there is one) among the elements of the window that lie in the
// image, in row-major order.
class PoolingIndex final : public OperatorWithParam<PoolingParam> {
 public:
  ASHLAR_OPERATOR("PoolingIndex", "pooling_index")
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs};
  }
  int64_t Computation(const Site& site) const override;
};

// Inputs: src, of which only the shape is read; the gradient of what the pooling made; the index.
// Output: src's type, what PoolingBackward makes.
class PoolingIndexBackward final : public OperatorWithParam<PoolingParam> {
 public:
  static constexpr int kSrc = 0, kDiff = 1, kIndex = 2;

  ASHLAR_OPERATOR("PoolingIndexBackward", "pooling_index_grad")
  InputUse input_use(int input) const override {
    return input == kSrc ? InputUse::kShape : InputUse::kDeviceValue;
  }
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_INDEX_H_

// PoolingIndex and PoolingIndexBackward: the position of the largest element of each window as a
// byte, and the image's gradient computed from it. The pooled image need not be saved.
#ifndef ASHLAR_OPR_POOLING_INDEX_H_
#define ASHLAR_OPR_POOLING_INDEX_H_

#include "opr/pooling_backward.h"

namespace ashlar {

// Returns whether the pooling takes maxima of windows whose positions fit in a byte.
bool HasPoolingIndex(const PoolingParam& param);

// Input: src as for PoolingForward. Output, Uint8 [N, C, oh, ow]: the number of the first maximum,
// or of the first NaN if there is one. Elements of the window inside the image are numbered in
// row-major order.
class PoolingIndex final : public OperatorWithParam<PoolingParam> {
 public:
  ASHLAR_OPERATOR("PoolingIndex", "pooling_index")
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kImageInputs};
  }
  int64_t Computation(const Site& site) const override;
};

// Inputs: src, of which only the shape is read; the gradient of the pooling's output; the index.
// Output: src's type, with PoolingBackward's values.
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

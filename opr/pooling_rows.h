// PoolingRows: the pooling of whole images, one strip of rows after the other, so that an image
// need not exist whole (global pooling of patches: msf-CNN, NeurIPS 2025).
#ifndef ASHLAR_OPR_POOLING_ROWS_H_
#define ASHLAR_OPR_POOLING_ROWS_H_

#include "opr/pooling_param.h"

namespace ashlar {

struct PoolingRowsParam {
  PoolingMode mode = PoolingMode::kAverage;
  int64_t rows = 0;        // of the whole image, if the strip is the last one; 0: others follow
  OutputType output = {};  // as in PoolingParam; at the last strip

  template <typename V>
  void Visit(V& v) {
    v("mode", mode, kPoolingModeNames);
    v("rows", rows);
    output.Visit(v);
  }
};

// Inputs: a strip [N, C, h, W] of Float32 or quantised bytes; except at the first strip the result
// of the strips before, [N, C, 1, 1]. Output: the result so far, [N, C, 1, 1]; it may overwrite the
// one before. At the last strip it is PoolingForward's output, with the same bits if the image is
// quantised.
//
// Maxima have the image's type. Sums are Float32 if the image is: the elements of each row are
// added from left to right, then the rows from top to bottom. Of quantised images they are Int32,
// and with AVERAGE_COUNT_EXCLUDE_PADDING Float32, all elements in order (opr/quantized_pooling.h).
class PoolingRows final : public OperatorWithParam<PoolingRowsParam> {
 public:
  static constexpr int kStrip = 0, kBefore = 1;

  ASHLAR_OPERATOR("PoolingRows", "pooling_rows")
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kBlocked};
  }
  Aliasing aliasing(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  // Supports the first strip.
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Replacement> JoinRows(const Range& rows, const Site& site) const override;
};

// Returns the operator with its operands, for a strip that begins at this row (JoinRows).
Replacement JoinedRows(const PoolingRowsParam& param, int64_t begin);

// Returns the parameters of the pooling of a whole image that ends with this strip.
PoolingParam WholePooling(const PoolingRowsParam& param, const TensorType& strip);

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_ROWS_H_

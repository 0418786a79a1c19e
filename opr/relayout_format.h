// RelayoutFormat: copies its input to another storage format; the logical value is the same.
#ifndef ASHLAR_OPR_RELAYOUT_FORMAT_H_
#define ASHLAR_OPR_RELAYOUT_FORMAT_H_

#include "opr/base/pointwise.h"

namespace ashlar {

struct RelayoutFormatParam {
  Format format = Format::kDefault;

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kNames[] = {"NCHW", "NCHW16c", "NHCW16c", "NHWC"};
    v("format", format, kNames);
  }
};

class RelayoutFormat final : public OperatorWithParam<RelayoutFormatParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("RelayoutFormat", "relayout")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow, .moves = true, .names_format = true};
  }
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RELAYOUT_FORMAT_H_

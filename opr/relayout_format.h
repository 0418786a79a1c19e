// RelayoutFormat: its input in another storage format; the logical value is the same.
#ifndef ASHLAR_OPR_RELAYOUT_FORMAT_H_
#define ASHLAR_OPR_RELAYOUT_FORMAT_H_

#include "opr/base.h"

namespace ashlar {

struct RelayoutFormatParam {
  Format format = Format::kDefault;

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kNames[] = {"NCHW", "NCHW16c", "NHCW16c", "NHWC"};
    v("format", format, kNames);
  }
};

class RelayoutFormat final : public OperatorWithParam<RelayoutFormatParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "RelayoutFormat"; }
  std::string base_name() const override { return "relayout"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  std::optional<View> ReadonlyForward(absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RELAYOUT_FORMAT_H_

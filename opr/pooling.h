// PoolingForward: the largest element or the mean of each window.
#ifndef ASHLAR_OPR_POOLING_H_
#define ASHLAR_OPR_POOLING_H_

#include "opr/base.h"
#include "opr/param_enums.h"
#include "opr/window.h"

namespace ashlar {

enum class PoolingMode {
  kMax,                         // padding is ignored
  kAverage,                     // of the whole window: padding counts as zeros
  kAverageCountExcludePadding,  // of the elements inside the image
};

// ceil_mode of other frameworks is a larger pad_h_end and pad_w_end.
struct PoolingParam {
  ImageFormat format = ImageFormat::kNCHW;
  PoolingMode mode = PoolingMode::kMax;
  int64_t window_h = 2, window_w = 2;
  int64_t stride_h = 2, stride_w = 2;
  int64_t pad_h = 0, pad_w = 0;  // before the first row and column; behind the last too, unless
  int64_t pad_h_end = kSamePadding, pad_w_end = kSamePadding;  // these say otherwise

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kNames[] = {"MAX", "AVERAGE", "AVERAGE_COUNT_EXCLUDE_PADDING"};
    v("format", format, kImageFormatNames);
    v("mode", mode, kNames);
    v("window_h", window_h);
    v("window_w", window_w);
    v("stride_h", stride_h);
    v("stride_w", stride_w);
    v("pad_h", pad_h);
    v("pad_w", pad_w);
    v.Optional("pad_h_end", pad_h_end, kSamePadding);
    v.Optional("pad_w_end", pad_w_end, kSamePadding);
  }
};

// What parameters and shape say together. Padding is resolved: no kSamePadding is left.
struct PoolingGeometry {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowAxis h, w;

  Shape output() const { return {batch, channels, h.output, w.output}; }
};

// `src` is [N, C, H, W], floats and not empty; every window must touch the image. Errors are
// InvalidArgument and name the parameter.
absl::StatusOr<PoolingGeometry> InferPooling(const PoolingParam& param, const TensorType& src);

// Input: src. Output: [N, C, oh, ow].
class PoolingForward final : public OperatorWithParam<PoolingParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "PoolingForward"; }
  std::string base_name() const override { return "pooling"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  bool has_workspace() const override { return true; }
  FormatRule format_rule(absl::Span<const TensorType>) const override {
    return FormatRule::kBlocked;
  }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  bool CropsInput(int input) const override { return input == 0; }
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_H_

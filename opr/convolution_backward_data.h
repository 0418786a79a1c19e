// ConvolutionBackwardData: 2-D transposed convolution, which spreads each element of an image over
// a window of the output.
#ifndef ASHLAR_OPR_CONVOLUTION_BACKWARD_DATA_H_
#define ASHLAR_OPR_CONVOLUTION_BACKWARD_DATA_H_

#include "opr/base/regions.h"
#include "opr/convolution.h"

namespace ashlar {

// The axes belong to the forward convolution: its input is the output here, and its output is the
// image. Channels are named as here.
struct BackwardDataGeometry : ConvolutionGeometry {
  Shape output() const { return {batch, groups * out_channels, h.input, w.input}; }
};

// `src` is [N, C, H, W]; `filter` is [C, oc, fh, fw], or [g, C/g, oc/g, fh, fw] if sparse is GROUP.
// Floats of one dtype, nothing empty. Errors are InvalidArgument and name the parameter or
// dimension.
absl::StatusOr<BackwardDataGeometry> InferBackwardData(const ConvolutionParam& param,
                                                       const TensorType& src,
                                                       const TensorType& filter);

// Inputs: src, filter (MegEngine has them in reverse order), and optionally z of the output's type,
// which is added and may be overwritten. Output: [N, oc, oh, ow] with oh = stride_h (H - 1) +
// dilate_h (fh - 1) + 1 - pad_h - pad_h_end. Padding removes rows; negative padding adds rows that
// no element reaches.
class ConvolutionBackwardData final : public OperatorWithParam<ConvolutionParam> {
 public:
  static constexpr int kSrc = 0, kFilter = 1, kZ = 2;

  ASHLAR_OPERATOR("ConvolutionBackwardData", "deconv")
  Aliasing aliasing(const Site& site) const override;
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kBlocked, .precision = PrecisionRule::kLow};
  }
  int64_t Computation(const Site& site) const override;
  int64_t KeptComputation(const Site& site) const override;
  ASHLAR_CUTS_OUTPUT_AND_INPUT()
  bool CropsInput(int input) const override { return input == kSrc; }
  // A convolution of the image with zeros between its elements.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_BACKWARD_DATA_H_

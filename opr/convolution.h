// ConvolutionForward: 2-D convolution without bias.
#ifndef ASHLAR_OPR_CONVOLUTION_H_
#define ASHLAR_OPR_CONVOLUTION_H_

#include "opr/param_enums.h"
#include "opr/window_operator.h"

namespace ashlar {

enum class ConvolutionMode { kCrossCorrelation, kConvolution };  // kConvolution flips the filter
enum class SparseMode { kDense, kGroup };

struct ConvolutionParam {
  ComputeMode compute_mode = ComputeMode::kDefault;
  ImageFormat format = ImageFormat::kNCHW;
  SparseMode sparse = SparseMode::kDense;
  ConvolutionMode mode = ConvolutionMode::kCrossCorrelation;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_h = 0, pad_w = 0;  // before the first row and column; also after the last, unless
  int64_t pad_h_end = kSamePadding, pad_w_end = kSamePadding;  // these are set
  int64_t dilate_h = 1, dilate_w = 1;

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kSparseNames[] = {"DENSE", "GROUP"};
    static constexpr const char* kModeNames[] = {"CROSS_CORRELATION", "CONVOLUTION"};
    v("compute_mode", compute_mode, kComputeModeNames);
    v("format", format, kImageFormatNames);
    v("sparse", sparse, kSparseNames);
    v("mode", mode, kModeNames);
    VisitSteps(v, *this);
    v("dilate_h", dilate_h);
    v("dilate_w", dilate_w);
  }
};

// Sizes that follow from parameters and shapes. Padding is resolved: kSamePadding does not occur.
struct ConvolutionGeometry : WindowAxes {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;   // of a group
  int64_t out_channels = 0;  // of a group

  Shape output() const { return {batch, groups * out_channels, h.output, w.output}; }
};

// `src` is [N, C, H, W]; `filter` is [oc, ic, fh, fw], or [g, oc/g, ic/g, fh, fw] if sparse is
// GROUP. Floats of one dtype, nothing empty. Errors are InvalidArgument and name the parameter or
// dimension.
absl::StatusOr<ConvolutionGeometry> InferConvolution(const ConvolutionParam& param,
                                                     const TensorType& src,
                                                     const TensorType& filter);

// Inputs: src, filter. Output: [N, oc, oh, ow].
class ConvolutionForward final
    : public OperatorWithParam<ConvolutionParam, PaddedWindowOperator<ConvolutionForward>> {
 public:
  ASHLAR_OPERATOR("ConvolutionForward", "conv")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;
  std::optional<Replacement> AbsorbAffine(absl::Span<const InputInfo> inputs,
                                          const ChannelAffine& affine) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  std::vector<double> ChannelShares(absl::Span<const InputInfo> inputs) const override;
  std::optional<Replacement> AbsorbInputScales(absl::Span<const InputInfo> inputs,
                                               absl::Span<const double> scales) const override;

 protected:
  absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const override;
};

class Gradients;
// Sets the gradients with respect to the image (input 0) and the filter (input 1); `diff` is the
// gradient with respect to the sums.
absl::Status ConvolutionGradient(Gradients& gradients, const ConvolutionParam& param, int diff);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_H_

// Convolution3DForward: 3-D convolution, for videos and volumes.
#ifndef ASHLAR_OPR_CONVOLUTION3D_H_
#define ASHLAR_OPR_CONVOLUTION3D_H_

#include "opr/base/base.h"
#include "opr/conv_param.h"

namespace ashlar {

// Height and width as in a convolution of images that does not flip the filter.
struct Convolution3DParam {
  SparseMode sparse = SparseMode::kDense;
  int64_t stride_d = 1, stride_h = 1, stride_w = 1;
  int64_t pad_d = 0, pad_h = 0, pad_w = 0;
  int64_t pad_d_end = kSamePadding, pad_h_end = kSamePadding, pad_w_end = kSamePadding;
  int64_t dilate_d = 1, dilate_h = 1, dilate_w = 1;

  template <typename V>
  void Visit(V& v) {
    v("sparse", sparse, kSparseNames);
    v("stride_d", stride_d);
    v("pad_d", pad_d);
    v.Optional("pad_d_end", pad_d_end, kSamePadding);
    VisitSteps(v, *this);
    v("dilate_d", dilate_d);
    v("dilate_h", dilate_h);
    v("dilate_w", dilate_w);
  }
};

// Returns the parameters of the convolution of one slice.
ConvolutionParam SliceParam(const Convolution3DParam& param);

struct Convolution3DGeometry : ConvolutionGeometry {
  WindowAxis d;

  Shape output() const { return {batch, groups * out_channels, d.output, h.output, w.output}; }
};

// Returns the sizes for inputs as below. Errors are InvalidArgument and name the input.
absl::StatusOr<Convolution3DGeometry> InferConvolution3D(const Convolution3DParam& param,
                                                         absl::Span<const InputInfo> inputs);

// Inputs, floats of one dtype: src [N, C, D, H, W]; filter [oc, ic, fd, fh, fw], or [g, oc/g, ic/g,
// fd, fh, fw] if sparse is GROUP; and optionally bias [oc]. Output: [N, oc, od, oh, ow].
class Convolution3DForward final : public OperatorWithParam<Convolution3DParam> {
 public:
  static constexpr int kSrc = 0, kFilter = 1, kBias = 2;

  ASHLAR_OPERATOR("Convolution3DForward", "conv3d")
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kLow};
  }
  int64_t Computation(const Site& site) const override;
  // A convolution of images whose channels are the channels of all slices under the filter; no
  // device has a kernel for this operator.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION3D_H_

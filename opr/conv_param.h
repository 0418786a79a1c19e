// The parameters of a convolution, and the sizes that follow from them.
#ifndef ASHLAR_OPR_CONV_PARAM_H_
#define ASHLAR_OPR_CONV_PARAM_H_

#include "opr/base/output_type.h"
#include "opr/base/param_enums.h"
#include "opr/base/scalar_functions.h"
#include "opr/base/window_operator.h"

namespace ashlar {

enum class ConvolutionMode { kCrossCorrelation, kConvolution };  // kConvolution flips the filter

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

struct ConvBiasParam : ConvolutionParam {
  ScalarFunction nonlineMode =
      ScalarFunction::kIdentity;     // a function that the table marks as an activation
  ScalarParameters parameters = {};  // of the activation
  OutputType output = {};            // for integers
  OutputType addend = {};            // the type of sums before z is added
  bool fixed_point_sum = false;      // adds z as ElemwiseMultiType's parameter of this name says
  double src_low = 0, src_high = 0;  // bounds of src, if the first is smaller; padding stays 0

  bool clamps_src() const { return src_low < src_high; }

  template <typename V>
  void Visit(V& v) {
    ConvolutionParam::Visit(v);
    v("nonlineMode", nonlineMode, kScalarFunctionNames);
    const ScalarRow& row = RowOf(nonlineMode);
    for (int i = 0; i < row.num_parameters; ++i) v.Optional(row.parameters[i], parameters[i], 0.0);
    output.Visit(v);
    addend.Visit(v, {"addend_dtype", "addend_scale", "addend_zero_point"});
    v.Optional("fixed_point_sum", fixed_point_sum, false);
    v.Optional("src_low", src_low, 0.0);
    v.Optional("src_high", src_high, 0.0);
  }
};

// The indices of the inputs of a convolution with bias; z is optional.
struct ConvBiasInputs {
  static constexpr int kSrc = 0, kFilter = 1, kBias = 2, kZ = 3;
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

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_PARAM_H_

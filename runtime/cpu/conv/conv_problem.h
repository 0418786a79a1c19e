// The request for which kernels of ConvolutionForward and ConvBiasForward are made, and the strides
// of its images.
#ifndef ASHLAR_RUNTIME_CPU_CONV_CONV_PROBLEM_H_
#define ASHLAR_RUNTIME_CPU_CONV_CONV_PROBLEM_H_

#include <cstdint>
#include <optional>

#include "graph/shape.h"
#include "opr/conv_bias.h"
#include "runtime/cpu/conv/filter_view.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// A request for either operator, in one form. For a ConvolutionForward, bias and z are absent and
// nonlineMode is IDENTITY. Inputs have the positions that they have in ConvBiasForward.
struct ConvProblem {
  ConvBiasParam param;
  ConvolutionGeometry geometry;
  TensorType src, filter, dst;
  FilterView weights;
  bool constant_filter = false;
  bool has_bias = false;
  std::optional<TensorType> z;
  Processor processor;
  int threads = 1;

  bool pointwise() const { return geometry.h.window == 1 && geometry.w.window == 1; }
  // Whether the filter is rotated by 180 degrees before it slides over the image.
  bool flipped() const { return param.mode == ConvolutionMode::kConvolution; }
};

// Reads the request; `param` is the parameter of request.op.
absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param);

// The strides of a convolution's images. The output and z are blocked: 16 adjacent channels, and
// `c` is the step between blocks. So is the input, unless its type is row-major.
struct ConvStrides {
  explicit ConvStrides(const ConvProblem& problem);

  ImageStrides src, z, dst;
};

inline ImageStrides InBytes(const ImageStrides& strides, int64_t element = sizeof(float)) {
  return {strides.n * element, strides.c * element, strides.h * element, strides.w * element};
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_CONV_PROBLEM_H_

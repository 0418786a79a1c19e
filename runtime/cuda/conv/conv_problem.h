// The request for which kernels of ConvolutionForward and ConvBiasForward are made.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_CONV_PROBLEM_H_
#define ASHLAR_RUNTIME_CUDA_CONV_CONV_PROBLEM_H_

#include <cstdint>
#include <optional>

#include "opr/conv_bias.h"
#include "runtime/cuda/conv/source_bounds.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// Positions of inputs, of either operator.
inline constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
                     kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

// A request for either operator, in one form. For a ConvolutionForward, bias and z are absent and
// nonlineMode is IDENTITY. Inputs have the positions that they have in ConvBiasForward.
struct ConvProblem {
  ConvBiasParam param;
  ConvolutionGeometry geometry;
  // src is the part of the image that windows touch: negative padding crops it, and the geometry
  // then has none. It starts at element src_offset of a larger image.
  TensorType src, filter, dst;
  ImageStrides src_strides;  // in elements
  int64_t src_offset = 0;
  bool constant_filter = false;
  bool has_bias = false;
  std::optional<TensorType> z;
  KernelPolicy policy;

  // Whether the filter is rotated by 180 degrees before it slides over the image.
  bool flipped() const { return param.mode == ConvolutionMode::kConvolution; }
  // Whether src is contiguous, as a whole image is.
  bool is_packed() const { return src_strides == StridesOf(src); }
  // Returns the bounds to which loaded elements of src are clamped, rounded to its dtype. Without
  // bounds, all numbers are allowed.
  SourceBounds source_bounds() const;
  // Returns the byte offset of src in the image.
  int64_t src_offset_bytes() const { return src_offset * SizeOf(src.dtype); }
};

// Reads the request; `param` is the parameter of request.op.
absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_CONV_PROBLEM_H_

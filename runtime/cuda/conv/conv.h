// The request that kernels of ConvolutionForward and ConvBiasForward are made for.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_CONV_H_
#define ASHLAR_RUNTIME_CUDA_CONV_CONV_H_

#include <functional>
#include <memory>
#include <optional>

#include "opr/conv_bias.h"
#include "runtime/cuda/conv/source_bounds.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// A request for either operator as the kernels see it. A ConvolutionForward has neither bias nor z
// and nonlineMode IDENTITY; inputs stand where ConvBiasForward has them.
struct ConvProblem {
  ConvBiasParam param;
  ConvolutionGeometry geometry;
  // src is the part of the image that windows touch: negative padding crops it, and the geometry
  // has none. It lies in a larger image from element src_offset on.
  TensorType src, filter, dst;
  ImageStrides src_strides;  // elements
  int64_t src_offset = 0;
  bool constant_filter = false;
  bool has_bias = false;
  std::optional<TensorType> z;
  KernelPolicy policy;

  // Whether the filter is turned by 180 degrees before it is slid over the image.
  bool flipped() const { return param.mode == ConvolutionMode::kConvolution; }
  // Whether src lies as an image of its own.
  bool is_packed() const { return src_strides == StridesOf(src); }
  // The bounds of src's elements, as its dtype has them; all numbers where there are none.
  SourceBounds source_bounds() const;
  // Where src begins, from the image's first byte on.
  int64_t src_offset_bytes() const { return src_offset * SizeOf(src.dtype); }
};

// `param` is that of request.op.
absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request,
                                            const ConvBiasParam& param);

// A kernel of our own: slow, for what libraries refuse.
std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem, double relative_time);

// A library's kernels for the problem; where it takes no part of a larger image, for a copy of it.
absl::StatusOr<KernelList> LibraryConvolutions(
    const ConvProblem& problem,
    const std::function<absl::StatusOr<KernelList>(const ConvProblem&)>& library);

// Kernels of our own for convolutions with a window for each channel, the best first; empty for
// others. Expected to be faster than a library's.
KernelList DepthwiseConvolutions(const ConvProblem& problem);

// A constant filter as libraries read it: [K, R, S, C/groups], turned where the problem says so.
Packing FilterPacking(const ConvProblem& problem);
void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed);

// The tail behind a convolution that adds and activates nothing itself: bias, z and activation
// in one launch. Where there is a z, which may lie where the output does, the sums are read from
// the workspace; else from the output.
std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem);
bool NeedsEpilogue(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_CONV_H_

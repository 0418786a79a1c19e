// The request for which kernels of ConvolutionForward and ConvBiasForward are made.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_CONV_H_
#define ASHLAR_RUNTIME_CUDA_CONV_CONV_H_

#include <functional>
#include <memory>
#include <optional>

#include "opr/conv_bias.h"
#include "runtime/cuda/conv/source_bounds.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

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

// Returns our own kernel, which is slow but takes all problems that libraries refuse.
std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem, double relative_time);

// Returns a library's kernels for the problem. If the library does not take a part of a larger
// image, they work on a copy of it.
absl::StatusOr<KernelList> LibraryConvolutions(
    const ConvProblem& problem,
    const std::function<absl::StatusOr<KernelList>(const ConvProblem&)>& library);

// Returns our own kernels for convolutions with one window per channel, the best first, or none for
// other problems. They are expected to be faster than a library's.
KernelList DepthwiseConvolutions(const ConvProblem& problem);

// The packing of a constant filter for libraries: [K, R, S, C/groups], rotated if the problem is
// flipped.
Packing FilterPacking(const ConvProblem& problem);
void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed);

// Returns a kernel that adds bias and z and applies the activation, in one launch after a plain
// convolution. With z, which may share the output's address, it reads the sums from the workspace,
// otherwise from the output.
std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem);
bool NeedsEpilogue(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_CONV_H_

// Strides, padding and dilation of the nodes of ONNX that slide windows.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "serialization/onnx/node.h"

namespace ashlar {

// One spatial axis. Padding may be negative: it crops.
struct OnnxWindow {
  int64_t input = 0, window = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  int64_t ceil_end = 0;  // elements that ceil_mode reads beyond the padding

  int64_t extent() const { return dilation * (window - 1) + 1; }
  int64_t output() const {
    return (input + pad_begin + pad_end + ceil_end - extent()) / stride + 1;
  }
  // As parameters have them: stride, padding before and behind, dilation. What ceil_mode reads is
  // padding like any other.
  std::tuple<int64_t, int64_t, int64_t, int64_t> steps() const {
    return {stride, pad_begin, pad_end + ceil_end, dilation};
  }
};

// The parameters of an operator whose windows go over rows and columns.
template <typename Param>
Param ParamOf(const OnnxWindow& h, const OnnxWindow& w) {
  Param param;
  std::tie(param.stride_h, param.pad_h, param.pad_h_end, param.dilate_h) = h.steps();
  std::tie(param.stride_w, param.pad_w, param.pad_w_end, param.dilate_w) = w.steps();
  return param;
}

// The spatial axes of an image [N, C, ...], from the attributes kernel_shape (or `kernel` where it
// is not given; empty: it must be), strides, pads, auto_pad, dilations and, where the node has it,
// ceil_mode. Empty after an error.
std::vector<OnnxWindow> OnnxWindows(OnnxNode& node, const Shape& image, std::vector<int64_t> kernel,
                                    bool with_ceil_mode);

// The same for a transposed convolution, whose padding takes rows of the output away: padding by
// auto_pad is left to the caller.
std::vector<OnnxWindow> OnnxTransposedWindows(OnnxNode& node, const Shape& image,
                                              std::vector<int64_t> kernel);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_

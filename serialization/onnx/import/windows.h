// Strides, padding and dilation of ONNX nodes with sliding windows.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "serialization/onnx/import/node.h"

namespace ashlar {

// A spatial axis of a window. Negative padding crops.
struct OnnxWindow {
  int64_t input = 0, window = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  int64_t ceil_end = 0;  // elements that ceil_mode reads after the padding

  int64_t extent() const { return dilation * (window - 1) + 1; }
  int64_t output() const {
    return (input + pad_begin + pad_end + ceil_end - extent()) / stride + 1;
  }
  // Returns stride, padding before and after, and dilation, as parameters take them. Elements for
  // ceil_mode count as padding.
  std::tuple<int64_t, int64_t, int64_t, int64_t> steps() const {
    return {stride, pad_begin, pad_end + ceil_end, dilation};
  }
};

// Returns the parameters of an operator whose windows slide over rows and columns.
template <typename Param>
Param ParamOf(const OnnxWindow& h, const OnnxWindow& w) {
  Param param;
  std::tie(param.stride_h, param.pad_h, param.pad_h_end, param.dilate_h) = h.steps();
  std::tie(param.stride_w, param.pad_w, param.pad_w_end, param.dilate_w) = w.steps();
  return param;
}

// Returns the spatial axes of an image [N, C, ...]. They come from the attributes kernel_shape,
// strides, pads, auto_pad, dilations and, if the node has it, ceil_mode. `kernel` is the default of
// kernel_shape; if empty, the attribute is required. Returns no axes after an error.
std::vector<OnnxWindow> OnnxWindows(OnnxNode& node, const Shape& image, std::vector<int64_t> kernel,
                                    bool with_ceil_mode);

// The same for a transposed convolution, whose padding removes rows of the output. The caller
// handles auto_pad.
std::vector<OnnxWindow> OnnxTransposedWindows(OnnxNode& node, const Shape& image,
                                              std::vector<int64_t> kernel);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_WINDOWS_H_

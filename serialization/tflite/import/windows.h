// The windows of TensorFlow Lite's convolutions and poolings.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_WINDOWS_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_WINDOWS_H_

#include <algorithm>
#include <utility>

#include "serialization/tflite/import/node.h"

namespace ashlar {

struct TfliteWindow {
  int64_t input = 1, window = 1, stride = 1, dilation = 1;
  int64_t extent() const { return dilation * (window - 1) + 1; }
};

// Returns the padding before and after the image. With SAME, as many windows start inside as steps
// of the stride, and an odd row of padding comes after.
inline std::pair<int64_t, int64_t> TflitePads(const TfliteWindow& axis, tflite::Padding padding) {
  if (padding == tflite::Padding::VALID) return {0, 0};
  const int64_t outputs = (axis.input + axis.stride - 1) / axis.stride;
  const int64_t total =
      std::max<int64_t>((outputs - 1) * axis.stride + axis.extent() - axis.input, 0);
  return {total / 2, total - total / 2};
}

// Reports an error unless all numbers of a window are usable.
inline void CheckTfliteWindow(TfliteNode& node, const TfliteWindow& h, const TfliteWindow& w,
                              tflite::Padding padding) {
  constexpr int64_t kMost = 1 << 20;
  for (const TfliteWindow* axis : {&h, &w}) {
    for (const int64_t number : {axis->window, axis->stride, axis->dilation}) {
      if (number >= 1 && number <= kMost) continue;
      node.Invalid("window ", axis->window, ", stride ", axis->stride, ", dilation ",
                   axis->dilation, ": expected 1 to ", kMost);
    }
  }
  if (padding != tflite::Padding::SAME && padding != tflite::Padding::VALID) {
    node.Invalid("padding ", static_cast<int>(padding));
  }
}

// Sets stride, padding and, if the parameters have it, dilation.
template <typename Param>
void SetTfliteWindows(const TfliteWindow& h, const TfliteWindow& w, tflite::Padding padding,
                      Param& param) {
  param.stride_h = h.stride;
  param.stride_w = w.stride;
  std::tie(param.pad_h, param.pad_h_end) = TflitePads(h, padding);
  std::tie(param.pad_w, param.pad_w_end) = TflitePads(w, padding);
  param.dilate_h = h.dilation;
  param.dilate_w = w.dilation;
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_WINDOWS_H_

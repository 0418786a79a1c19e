// The parameters of a pooling, and the sizes that follow from them.
#ifndef ASHLAR_OPR_POOLING_PARAM_H_
#define ASHLAR_OPR_POOLING_PARAM_H_

#include "opr/base/output_type.h"
#include "opr/base/param_enums.h"
#include "opr/base/window_operator.h"

namespace ashlar {

enum class PoolingMode {
  kMax,                         // padding is ignored
  kAverage,                     // of the whole window: padding counts as zeros
  kAverageCountExcludePadding,  // of the elements inside the image
};

inline constexpr const char* kPoolingModeNames[] = {"MAX", "AVERAGE",
                                                    "AVERAGE_COUNT_EXCLUDE_PADDING"};

// For ceil_mode of other frameworks, use a larger pad_h_end and pad_w_end.
struct PoolingParam {
  ImageFormat format = ImageFormat::kNCHW;
  PoolingMode mode = PoolingMode::kMax;
  int64_t window_h = 2, window_w = 2;
  int64_t stride_h = 2, stride_w = 2;
  int64_t pad_h = 0, pad_w = 0;  // before the first row and column; also after the last, unless
  int64_t pad_h_end = kSamePadding, pad_w_end = kSamePadding;  // these are set
  int64_t dilate_h = 1, dilate_w = 1;
  OutputType output = {};  // for means of integers

  template <typename V>
  void Visit(V& v) {
    v("format", format, kImageFormatNames);
    v("mode", mode, kPoolingModeNames);
    v("window_h", window_h);
    v("window_w", window_w);
    VisitSteps(v, *this);
    v.Optional("dilate_h", dilate_h, int64_t{1});
    v.Optional("dilate_w", dilate_w, int64_t{1});
    output.Visit(v);
  }
};

// Sizes that follow from parameters and shape. Padding is resolved: kSamePadding does not occur.
struct PoolingGeometry : WindowAxes {
  int64_t batch = 0;
  int64_t channels = 0;

  Shape output() const { return {batch, channels, h.output, w.output}; }
};

// Calls visit(window, plane's first element, rows, columns) for each window of each plane, in the
// order of outputs.
template <typename Visit>
void ForEachWindow(const PoolingGeometry& geometry, const Visit& visit) {
  const WindowAxis &h = geometry.h, &w = geometry.w;
  int64_t window = 0;
  for (int64_t plane = 0; plane < geometry.batch * geometry.channels; ++plane) {
    for (int64_t y = 0; y < h.output; ++y) {
      for (int64_t x = 0; x < w.output; ++x) {
        visit(window++, plane * h.input * w.input, h.Inside(y), w.Inside(x));
      }
    }
  }
}

// `src` is [N, C, H, W], floats or quantised bytes and not empty; every window must overlap the
// image. Errors are InvalidArgument and name the parameter.
absl::StatusOr<PoolingGeometry> InferPooling(const PoolingParam& param, const TensorType& src);

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_PARAM_H_

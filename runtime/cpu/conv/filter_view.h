// Where the weights of a convolution stand in its filter, or in that of the convolution whose
// gradient it computes.
#ifndef ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_
#define ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_

#include <cstdint>

#include "opr/convolution.h"

namespace ashlar::cpu {

// In elements: where the first weight is, and the steps, which may be negative, from group to
// group, from channel to channel inside a group, and from tap to tap down and along the window.
struct FilterView {
  int64_t first = 0;
  int64_t group = 0, out = 0, in = 0;
  int64_t row = 0, column = 0;

  // Of [groups, oc, ic, fh, fw]; where `flipped`, turned by 180 degrees.
  static FilterView Of(const ConvolutionGeometry& g, bool flipped) {
    const int64_t taps = g.h.window * g.w.window, of_out = g.in_channels * taps;
    const int64_t sign = flipped ? -1 : 1;
    return {flipped ? taps - 1 : 0, g.out_channels * of_out, of_out, taps, sign * g.w.window, sign};
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_

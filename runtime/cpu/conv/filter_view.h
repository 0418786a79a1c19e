// Addresses of weights in a convolution's filter, or in the filter whose gradient is computed.
#ifndef ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_
#define ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_

#include <cstdint>

#include "opr/convolution.h"

namespace ashlar::cpu {

// The layout of a filter, in elements: the position of the first weight, and the steps between
// groups, output channels, input channels of a group, and taps (down and along the window). Steps
// may be negative.
struct FilterView {
  int64_t first = 0;
  int64_t group = 0, out = 0, in = 0;
  int64_t row = 0, column = 0;

  // For a filter [groups, oc, ic, fh, fw]. If `flipped`, taps are rotated by 180 degrees.
  static FilterView Of(const ConvolutionGeometry& g, bool flipped) {
    const int64_t taps = g.h.window * g.w.window, of_out = g.in_channels * taps;
    const int64_t sign = flipped ? -1 : 1;
    return {flipped ? taps - 1 : 0, g.out_channels * of_out, of_out, taps, sign * g.w.window, sign};
  }
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_FILTER_VIEW_H_

// The work of a call in counts, by which its instructions are expected.
#ifndef ASHLAR_RUNTIME_MCU_WORK_H_
#define ASHLAR_RUNTIME_MCU_WORK_H_

#include "runtime/mcu/shapes.h"

namespace ashlar::mcu {

struct CodeWork {
  double pixels = 0;   // of the output; of other functions: rows of the innermost axis
  double results = 0;  // elements of the output
  double runs = 0;     // of the innermost loop of products
  // Products, or elements of windows; of convolutions of bytes the ones that are summed one, four
  // and sixteen inputs at a time.
  double products = 0, fours = 0, sixteens = 0;
};

// The taps of a window's axis that are inside the image, over all outputs; of these outputs' runs
// of adjacent inputs, `channels` for each tap, the inputs that vectors of four and sixteen take.
struct TapCounts {
  double taps = 0, fours = 0, sixteens = 0, outputs_with_taps = 0;
};
TapCounts CountTaps(const ashlar_axis& axis, int32_t channels);

// Returns the work of a convolution with the fields of ashlar_conv8_shape.
template <typename ShapeStruct>
CodeWork WorkOfConvolution(const ShapeStruct& s) {
  const TapCounts rows = CountTaps(s.h, 1), columns = CountTaps(s.w, s.in_channels);
  CodeWork work;
  work.pixels = 1.0 * s.batch * s.h.output * s.w.output;
  work.results = work.pixels * s.groups * s.out_channels;
  // Outputs of a group are summed in fours; a channel with its own filter has one.
  const bool depthwise = s.in_channels == 1 && s.out_channels == 1;
  const double sums =
      1.0 * s.groups * (depthwise ? 1 : (s.out_channels + 3) / 4 * 4) * s.batch * rows.taps;
  const double products = sums * columns.taps * s.in_channels;
  const bool adjacent = s.src.channel == 1 && s.w.dilation * s.src.column == s.in_channels;
  if (depthwise) {
    // Four adjacent channels are summed together.
    work.runs = s.batch * rows.taps * s.w.output * ((s.groups + 3) / 4);
    (s.src.channel == 1 ? work.fours : work.products) = products;
  } else if (adjacent) {
    work.runs = sums / 4 * columns.outputs_with_taps;
    work.sixteens = sums * columns.sixteens;
    work.fours = sums * columns.fours - work.sixteens;
    work.products = products - sums * columns.fours;
  } else {
    work.runs = sums / 4 * columns.taps;
    const double share = s.src.channel == 1 && s.in_channels % 4 == 0 ? 1 : 0;
    work.sixteens = share * products * (s.in_channels / 16 * 16) / s.in_channels;
    work.fours = share * products - work.sixteens;
    work.products = products - work.fours - work.sixteens;
  }
  return work;
}

template <typename ShapeStruct>
CodeWork WorkOf(const ShapeStruct& s) {
  CodeWork work;
  if constexpr (requires { s.convolution; }) {
    work = WorkOf(s.convolution);
  } else if constexpr (requires { s.strip; }) {
    work = WorkOf(s.strip);
  } else if constexpr (requires { s.columns; }) {  // rows that are pooled
    work.pixels = s.batch;
    work.results = 1.0 * s.batch * s.channels;
    work.runs = work.results * s.rows;
    work.products = work.runs * s.columns;
  } else if constexpr (requires { s.groups; }) {
    work = WorkOfConvolution(s);
  } else if constexpr (requires { s.channels; }) {  // pooling
    work.pixels = 1.0 * s.batch * s.h.output * s.w.output;
    work.results = work.pixels * s.channels;
    work.products = 1.0 * s.batch * s.channels * CountTaps(s.h, 1).taps * CountTaps(s.w, 1).taps;
    work.runs = 1.0 * s.batch * s.channels * CountTaps(s.h, 1).taps * s.w.output;
  } else if constexpr (requires { s.walk; }) {
    work.results = 1;
    for (const int32_t size : s.walk.sizes) work.results *= size;
    work.pixels = work.results / s.walk.sizes[ASHLAR_AXES - 1];
    if constexpr (requires { s.unit; }) work.products = work.results * s.unit;
    if constexpr (requires { s.k; }) {
      work.pixels = work.results * s.m;
      work.results *= 1.0 * s.m * s.n;
      work.products = work.results * s.k;
    }
  } else if constexpr (requires { s.middle; }) {
    work.results = 1.0 * s.outer * s.y * s.middle * s.x * s.inner;
    work.products = work.results * s.y_taps * s.x_taps;
  } else if constexpr (requires { s.x; }) {  // bytes that are resized
    work.pixels = 1.0 * s.outer * s.y * s.x;
    work.results = work.pixels * s.inner;
  } else {
    work.pixels = 1.0 * s.outer * s.inner;
    work.results = 1.0 * s.outer * s.axis * s.inner;
  }
  return work;
}

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_WORK_H_

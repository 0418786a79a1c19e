// ResizeBytes, one thread per output element. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_RESIZE_BYTES_CODE_H_
#define ASHLAR_RUNTIME_CUDA_RESIZE_BYTES_CODE_H_

#include "opr/base/fixed_point_resize.h"
#include "runtime/cuda/quantized_code.h"

namespace ashlar::cuda {

// An axis; outputs and inputs are counted in the whole problem (opr/resize_axis.h).
struct ByteResizeAxis {
  FixedPointPositions positions;
  int64_t whole_input = 1, input_begin = 0, output_begin = 0;
};

struct ByteResizeParams {
  Extents extents;
  bool channels_last = false, is_signed = false;
  ByteResizeAxis h, w;
  ImageSteps in_steps, out_steps;
  const void* in = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const ByteResizeParams& params, void* stream);

// The inputs of an output, among the given ones, and the weight of the second.
struct ByteResizeTaps {
  int64_t first, second;
  int32_t weight;
};
ASHLAR_HD ByteResizeTaps TapsAt(const ByteResizeAxis& axis, int64_t output) {
  const double position = FixedPointPosition(axis.positions, axis.output_begin + output);
  const int64_t most = axis.whole_input - 1;
  const int64_t first = static_cast<int64_t>(floor(position)), second = first + 1;
  return {(first < 0      ? 0
           : first < most ? first
                          : most) -
              axis.input_begin,
          (second < 0      ? 0
           : second < most ? second
                           : most) -
              axis.input_begin,
          FixedPointWeight(position)};
}

ASHLAR_HD void ByteResizeAt(const ByteResizeParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, p.channels_last, 1, number);
  const ByteResizeTaps rows = TapsAt(p.h, point.h), columns = TapsAt(p.w, point.w);
  const ByteType type = {p.is_signed};
  const auto pair = [&](int64_t row) {
    return FixedPointPair{
        IntegerAt(type, p.in, ElementAt(p.in_steps, {point.n, point.c, row, columns.first})),
        IntegerAt(type, p.in, ElementAt(p.in_steps, {point.n, point.c, row, columns.second}))};
  };
  static_cast<uint8_t*>(p.out)[ElementAt(p.out_steps, point)] = static_cast<uint8_t>(
      FixedPointBlend(pair(rows.first), pair(rows.second), columns.weight, rows.weight));
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_RESIZE_BYTES_CODE_H_

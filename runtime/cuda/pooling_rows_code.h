// The pooling of images, a strip of rows at a time: one thread for each channel. Results of bytes
// are bit-identical to runtime/cpu. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_POOLING_ROWS_CODE_H_
#define ASHLAR_RUNTIME_CUDA_POOLING_ROWS_CODE_H_

#include "runtime/cuda/launch.h"
#include "runtime/cuda/pooling_code.h"
#include "runtime/cuda/quantized_code.h"

namespace ashlar::cuda {

struct PoolRowsParams {
  Extents extents;  // of the output, [N, C, 1, 1] in row-major order
  PoolKind kind = PoolKind::kMax;
  bool bytes = false, last = false;
  int64_t rows = 0, columns = 0;
  ImageSteps in_steps, out_steps;
  ByteType of_in, of_out;                       // if `bytes`; of_out at the last strip
  float factor = 1;                             // as in BytePoolParams
  float count = 1;                              // elements of the whole image
  const void *in = nullptr, *before = nullptr;  // `before` is null at the first strip
  void* out = nullptr;
};
LaunchError Launch(const PoolRowsParams& params, void* stream);

ASHLAR_HD void PoolRowsOfFloats(const PoolRowsParams& p, int64_t from, int64_t to) {
  float total = p.before != nullptr        ? static_cast<const float*>(p.before)[to]
                : p.kind == PoolKind::kMax ? -INFINITY
                                           : 0.0f;
  for (int64_t y = 0; y < p.rows; ++y) {
    float row = p.kind == PoolKind::kMax ? -INFINITY : 0.0f;
    for (int64_t x = 0; x < p.columns; ++x) {
      row = PoolTwo(p.kind, row,
                    static_cast<const float*>(p.in)[from + y * p.in_steps.h + x * p.in_steps.w]);
    }
    total = PoolTwo(p.kind, total, row);
  }
  const bool mean = p.last && p.kind != PoolKind::kMax;
  static_cast<float*>(p.out)[to] = mean ? total / p.count : total;
}

ASHLAR_HD void PoolRowsOfBytes(const PoolRowsParams& p, int64_t from, int64_t to) {
  const bool maxima = p.kind == PoolKind::kMax, exact = p.kind == PoolKind::kAverage;
  int32_t sum = maxima ? p.of_in.least : 0;
  float reals = 0;
  if (p.before != nullptr) {
    if (maxima) {
      sum = IntegerAt(p.of_in, p.before, to);
    } else if (exact) {
      sum = static_cast<const int32_t*>(p.before)[to];
    } else {
      reals = static_cast<const float*>(p.before)[to];
    }
  }
  for (int64_t y = 0; y < p.rows; ++y) {
    for (int64_t x = 0; x < p.columns; ++x) {
      const int64_t at = from + y * p.in_steps.h + x * p.in_steps.w;
      const int32_t integer = IntegerAt(p.of_in, p.in, at);
      if (maxima) {
        sum = integer > sum ? integer : sum;
      } else if (exact) {
        sum += integer - p.of_in.zero_point;
      } else {
        reals = RoundedSum(reals, RealAt(p.of_in, p.in, at));
      }
    }
  }
  if (maxima) {
    static_cast<uint8_t*>(p.out)[to] = static_cast<uint8_t>(sum);
  } else if (p.last) {
    const float steps = exact ? RoundedProduct(static_cast<float>(sum), p.factor)
                              : RoundedQuotient(RoundedQuotient(reals, p.count), p.of_out.scale);
    static_cast<uint8_t*>(p.out)[to] = ByteOf(p.of_out, steps);
  } else if (exact) {
    static_cast<int32_t*>(p.out)[to] = sum;
  } else {
    static_cast<float*>(p.out)[to] = reals;
  }
}

ASHLAR_HD void PoolRowsAt(const PoolRowsParams& p, int64_t number) {
  const ImagePoint point = PointOf(p.extents, /*channels_last=*/false, 1, number);
  const int64_t from = ElementAt(p.in_steps, {point.n, point.c, 0, 0});
  const int64_t to = ElementAt(p.out_steps, {point.n, point.c, 0, 0});
  p.bytes ? PoolRowsOfBytes(p, from, to) : PoolRowsOfFloats(p, from, to);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POOLING_ROWS_CODE_H_

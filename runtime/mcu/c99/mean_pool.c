#include "runtime/mcu/c99/mean_pool.h"

#include "runtime/mcu/c99/pool_windows.h"

// Sums each row apart, so that large windows round less.
static float ashlar_mean_of_window(const ashlar_pool_shape* s, const ashlar_taps* rows,
                                   const ashlar_taps* columns, const float* src) {
  const int32_t inside = (rows->end - rows->begin) * (columns->end - columns->begin);
  float sum = 0;
  int32_t y, x;
  for (y = rows->begin; y < rows->end; ++y, src += s->h.dilation * s->src.row) {
    const float* from = src;
    float row = 0;
    for (x = columns->begin; x < columns->end; ++x, from += s->w.dilation * s->src.column) {
      row += *from;
    }
    sum += row;
  }
  return sum / (float)(s->count == 0 ? inside : s->count);
}

ASHLAR_POOL_WINDOWS(ashlar_mean_pool, ashlar_pool_shape, float, ashlar_mean_of_window)

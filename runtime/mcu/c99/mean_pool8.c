#include "runtime/mcu/c99/mean_pool8.h"

#include "runtime/mcu/c99/pool_windows.h"
#include "runtime/mcu/c99/round8.h"

static int32_t ashlar_sum8_of_window(const ashlar_mean_pool8_shape* s, const ashlar_taps* rows,
                                     const ashlar_taps* columns, const uint8_t* src) {
  int32_t sum = 0, y, x;
  for (y = rows->begin; y < rows->end; ++y, src += s->h.dilation * s->src.row) {
    const uint8_t* from = src;
    for (x = columns->begin; x < columns->end; ++x, from += s->w.dilation * s->src.column) {
      sum += (*from ^ s->src_flip) - s->src_zero_point;
    }
  }
  return sum;
}

// The same for floats, added one after the other.
static float ashlar_float_sum8_of_window(const ashlar_mean_pool8_shape* s, const ashlar_taps* rows,
                                         const ashlar_taps* columns, const uint8_t* src) {
  float sum = 0;
  int32_t y, x;
  for (y = rows->begin; y < rows->end; ++y, src += s->h.dilation * s->src.row) {
    const uint8_t* from = src;
    for (x = columns->begin; x < columns->end; ++x, from += s->w.dilation * s->src.column) {
      const float value = (float)((*from ^ s->src_flip) - s->src_zero_point) * s->src_scale;
      sum = sum + value;
    }
  }
  return sum;
}

static uint8_t ashlar_mean8_of_window(const ashlar_mean_pool8_shape* s, const ashlar_taps* rows,
                                      const ashlar_taps* columns, const uint8_t* src) {
  float steps;
  if (s->factor == 0) {
    const int32_t count = (rows->end - rows->begin) * (columns->end - columns->begin);
    steps = ashlar_float_sum8_of_window(s, rows, columns, src) / (float)count / s->scale;
  } else {
    steps = (float)ashlar_sum8_of_window(s, rows, columns, src) * s->factor;
  }
  return (uint8_t)(ashlar_round8(steps, s->low, s->high) + s->zero_point);
}

ASHLAR_POOL_WINDOWS(ashlar_mean_pool8, ashlar_mean_pool8_shape, uint8_t, ashlar_mean8_of_window)

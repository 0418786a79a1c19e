#include "runtime/mcu/c99/mean_pool8.h"

#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/taps.h"

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

void ashlar_mean_pool8(const ashlar_mean_pool8_shape* shape, const void* src, void* dst) {
  const ashlar_mean_pool8_shape* const s = shape;
  int32_t n, oh, ow, c;
  for (n = 0; n < s->batch; ++n) {
    for (oh = 0; oh < s->h.output; ++oh) {
      const ashlar_taps rows = ashlar_taps_inside(&s->h, oh);
      for (ow = 0; ow < s->w.output; ++ow) {
        const ashlar_taps columns = ashlar_taps_inside(&s->w, ow);
        const uint8_t* const from = (const uint8_t*)src + n * s->src.image +
                                    rows.first * s->src.row + columns.first * s->src.column;
        uint8_t* const to = (uint8_t*)dst + n * s->dst.image + oh * s->dst.row + ow * s->dst.column;
        for (c = 0; c < s->channels; ++c) {
          to[c * s->dst.channel] =
              ashlar_mean8_of_window(s, &rows, &columns, from + c * s->src.channel);
        }
      }
    }
  }
}

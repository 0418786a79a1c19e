#include "runtime/mcu/c99/pool_rows.h"

// Sums each row apart, so that large images round less.
static float ashlar_pool_of_rows(const ashlar_pool_rows_shape* s, const float* src, float total) {
  int32_t y, x;
  for (y = 0; y < s->rows; ++y, src += s->src.row) {
    const float* from = src;
    float row = 0;
    for (x = 0; x < s->columns; ++x, from += s->src.column) {
      row += *from;
      if (s->maxima && (*from > total || *from != *from)) total = *from;
    }
    if (!s->maxima) total += row;
  }
  return s->maxima || s->count == 0 ? total : total / (float)s->count;
}

void ashlar_pool_rows(const ashlar_pool_rows_shape* shape, const void* src, const void* before,
                      void* dst) {
  const ashlar_pool_rows_shape* const s = shape;
  int32_t n, c;
  for (n = 0; n < s->batch; ++n) {
    for (c = 0; c < s->channels; ++c) {
      const float* const from = (const float*)src + n * s->src.image + c * s->src.channel;
      const int32_t at = n * s->dst.image + c * s->dst.channel;
      float total = s->maxima ? *from : 0;
      if (before != NULL) total = ((const float*)before)[at];
      ((float*)dst)[at] = ashlar_pool_of_rows(s, from, total);
    }
  }
}

#include "runtime/mcu/c99/pool_rows8.h"

#include "runtime/mcu/c99/round8.h"

static int32_t ashlar_integers_of_rows(const ashlar_pool_rows8_shape* s, const uint8_t* src,
                                       int32_t total) {
  int32_t y, x;
  for (y = 0; y < s->strip.rows; ++y, src += s->strip.src.row) {
    const uint8_t* from = src;
    for (x = 0; x < s->strip.columns; ++x, from += s->strip.src.column) {
      const int32_t value = *from ^ s->src_flip;
      if (!s->strip.maxima) {
        total += value - s->src_zero_point;
      } else if (value > total) {
        total = value;
      }
    }
  }
  return total;
}

// The same for floats, added one after the other.
static float ashlar_values_of_rows(const ashlar_pool_rows8_shape* s, const uint8_t* src,
                                   float total) {
  int32_t y, x;
  for (y = 0; y < s->strip.rows; ++y, src += s->strip.src.row) {
    const uint8_t* from = src;
    for (x = 0; x < s->strip.columns; ++x, from += s->strip.src.column) {
      const float value = (float)((*from ^ s->src_flip) - s->src_zero_point) * s->src_scale;
      total = total + value;
    }
  }
  return total;
}

// Channel `at` of a result.
static void ashlar_pool_channel8(const ashlar_pool_rows8_shape* s, const uint8_t* src,
                                 const void* before, void* dst, int32_t at) {
  float steps;
  if (s->strip.maxima) {
    const int32_t start = before == NULL ? 0 : ((const uint8_t*)before)[at] ^ s->src_flip;
    ((uint8_t*)dst)[at] = (uint8_t)(ashlar_integers_of_rows(s, src, start) ^ s->src_flip);
    return;
  }
  if (s->factor == 0) {
    const float sum =
        ashlar_values_of_rows(s, src, before == NULL ? 0 : ((const float*)before)[at]);
    if (s->strip.count == 0) {
      ((float*)dst)[at] = sum;
      return;
    }
    steps = sum / (float)s->strip.count / s->scale;
  } else {
    const int32_t sum =
        ashlar_integers_of_rows(s, src, before == NULL ? 0 : ((const int32_t*)before)[at]);
    if (s->strip.count == 0) {
      ((int32_t*)dst)[at] = sum;
      return;
    }
    steps = (float)sum * s->factor;
  }
  ((uint8_t*)dst)[at] = (uint8_t)(ashlar_round8(steps, s->low, s->high) + s->zero_point);
}

void ashlar_pool_rows8(const ashlar_pool_rows8_shape* shape, const void* src, const void* before,
                       void* dst) {
  const ashlar_pool_rows_shape* const s = &shape->strip;
  int32_t n, c;
  for (n = 0; n < s->batch; ++n) {
    for (c = 0; c < s->channels; ++c) {
      ashlar_pool_channel8(shape, (const uint8_t*)src + n * s->src.image + c * s->src.channel,
                           before, dst, n * s->dst.image + c * s->dst.channel);
    }
  }
}

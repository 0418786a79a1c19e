#include "runtime/mcu/c99/depthwise8.h"

#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/taps.h"

enum { ASHLAR_DEPTHWISE8_LANES = 16 };  // channels summed at a time

// Computes `count` channels of a pixel, at most ASHLAR_DEPTHWISE8_LANES, from `first` on. `src` is
// channel 0 of the first tap inside the image.
static void ashlar_depthwise8_lanes(const ashlar_conv8_shape* s, const ashlar_taps* rows,
                                    const ashlar_taps* columns, const uint8_t* src,
                                    const int8_t* filter, const int32_t* bias, const float* factors,
                                    int32_t first, int32_t count, uint8_t* dst) {
  int32_t sums[ASHLAR_DEPTHWISE8_LANES];
  int32_t y, x, i;
  for (i = 0; i < count; ++i) sums[i] = bias[first + i];
  for (y = rows->begin; y < rows->end; ++y) {
    const uint8_t* const line = src + (y - rows->begin) * s->h.dilation * s->src.row;
    for (x = columns->begin; x < columns->end; ++x) {
      const uint8_t* from =
          line + (x - columns->begin) * s->w.dilation * s->src.column + first * s->src.channel;
      const int8_t* const weights = filter + (y * s->w.window + x) * s->groups + first;
      for (i = 0; i < count; ++i, from += s->src.channel) {
        sums[i] += ((*from ^ s->src_flip) - s->src_zero_point) * weights[i];
      }
    }
  }
  for (i = 0; i < count; ++i) {
    const float steps = (float)sums[i] * factors[first + i];
    dst[(first + i) * s->dst.channel] =
        (uint8_t)(ashlar_round8(steps, s->low, s->high) + s->zero_point);
  }
}

void ashlar_depthwise8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, void* dst) {
  const ashlar_conv8_shape* const s = shape;
  int32_t n, oh, ow, first;
  for (n = 0; n < s->batch; ++n) {
    for (oh = 0; oh < s->h.output; ++oh) {
      const ashlar_taps rows = ashlar_taps_inside(&s->h, oh);
      for (ow = 0; ow < s->w.output; ++ow) {
        const ashlar_taps columns = ashlar_taps_inside(&s->w, ow);
        const uint8_t* const from = (const uint8_t*)src + n * s->src.image +
                                    rows.first * s->src.row + columns.first * s->src.column;
        uint8_t* const to = (uint8_t*)dst + n * s->dst.image + oh * s->dst.row + ow * s->dst.column;
        for (first = 0; first < s->groups; first += ASHLAR_DEPTHWISE8_LANES) {
          const int32_t rest = s->groups - first;
          ashlar_depthwise8_lanes(s, &rows, &columns, from, filter, bias, factors, first,
                                  rest < ASHLAR_DEPTHWISE8_LANES ? rest : ASHLAR_DEPTHWISE8_LANES,
                                  to);
        }
      }
    }
  }
}

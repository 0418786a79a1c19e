#include "runtime/mcu/c99/depthwise8.h"

#include "runtime/mcu/c99/extensions.h"
#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/taps.h"

// The taps of a pixel that are inside the image. `src` and `filter` are the first one's, for the
// next channel.
typedef struct {
  const uint8_t* src;
  const int8_t* filter;
  int32_t rows, columns;                // taps
  int32_t row_bytes, column_bytes;      // between taps of the image
  int32_t row_weights, column_weights;  // between taps of the filter
  int32_t step, flip, zero_point;
} ashlar_depthwise8_taps;

#ifdef ASHLAR_MVE
enum { ASHLAR_DEPTHWISE8_LANES = 8 };

// Sums eight adjacent channels: even ones in one vector, odd ones in another.
static inline void ashlar_depthwise8_sums(const ashlar_depthwise8_taps* t, int32_t* sums) {
  const uint16x8_t flips = vdupq_n_u16((uint16_t)t->flip);
  int32x4x2_t all = vld2q_s32(sums);
  int32_t y, x;
  for (y = 0; y < t->rows; ++y) {
    const uint8_t* from = t->src + y * t->row_bytes;
    const int8_t* weights = t->filter + y * t->row_weights;
    for (x = t->columns; x > 0; --x, from += t->column_bytes, weights += t->column_weights) {
      const int16x8_t bytes = vreinterpretq_s16_u16(veorq_u16(vldrbq_u16(from), flips));
      const int16x8_t inputs = vsubq_n_s16(bytes, (int16_t)t->zero_point);
      const int16x8_t w = vldrbq_s16(weights);
      all.val[0] = vaddq_s32(all.val[0], vmullbq_int_s16(inputs, w));
      all.val[1] = vaddq_s32(all.val[1], vmulltq_int_s16(inputs, w));
    }
  }
  vst2q_s32(sums, all);
}
#else
enum { ASHLAR_DEPTHWISE8_LANES = 4 };

// Sums four adjacent channels.
static inline void ashlar_depthwise8_sums(const ashlar_depthwise8_taps* t, int32_t* sums) {
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
#ifdef ASHLAR_SIMD32
  const uint32_t flips = (uint32_t)t->flip * 0x1010101u;
  const uint32_t zero = ashlar_both_halves(-t->zero_point);
#endif
  int32_t y, x;
  for (y = 0; y < t->rows; ++y) {
    const uint8_t* from = t->src + y * t->row_bytes;
    const int8_t* w = t->filter + y * t->row_weights;
    for (x = t->columns; x > 0; --x, from += t->column_bytes, w += t->column_weights) {
#ifdef ASHLAR_SIMD32
      const uint32_t inputs = ashlar_four_bytes(from) ^ flips, weights = ashlar_four_bytes(w);
      const uint32_t even = ashlar_add_even(zero, inputs), odd = ashlar_add_odd(zero, inputs);
      const uint32_t even_weights = ashlar_signed_even(weights);
      const uint32_t odd_weights = ashlar_signed_odd(weights);
      s0 = ashlar_add_lower(even, even_weights, s0);
      s1 = ashlar_add_lower(odd, odd_weights, s1);
      s2 = ashlar_add_upper(even, even_weights, s2);
      s3 = ashlar_add_upper(odd, odd_weights, s3);
#else
      s0 += ((from[0] ^ t->flip) - t->zero_point) * w[0];
      s1 += ((from[1] ^ t->flip) - t->zero_point) * w[1];
      s2 += ((from[2] ^ t->flip) - t->zero_point) * w[2];
      s3 += ((from[3] ^ t->flip) - t->zero_point) * w[3];
#endif
    }
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}
#endif

static inline int32_t ashlar_depthwise8_sum(const ashlar_depthwise8_taps* t) {
  int32_t sum = 0, y, x;
  for (y = 0; y < t->rows; ++y) {
    const uint8_t* from = t->src + y * t->row_bytes;
    const int8_t* weights = t->filter + y * t->row_weights;
    for (x = t->columns; x > 0; --x, from += t->column_bytes, weights += t->column_weights) {
      sum += ((*from ^ t->flip) - t->zero_point) * *weights;
    }
  }
  return sum;
}

// Computes a pixel: the channels together that are adjacent, the others one by one.
static void ashlar_depthwise8_pixel(const ashlar_conv8_shape* s, ashlar_depthwise8_taps* t,
                                    const int32_t* bias, const float* factors, uint8_t* dst) {
  int32_t sums[ASHLAR_DEPTHWISE8_LANES];
  int32_t channel, count, i;
  for (channel = 0; channel < s->groups; channel += count) {
    const int together = t->step == 1 && s->groups - channel >= ASHLAR_DEPTHWISE8_LANES;
    count = together ? ASHLAR_DEPTHWISE8_LANES : 1;
    for (i = 0; i < count; ++i) sums[i] = 0;
    if (together) {
      ashlar_depthwise8_sums(t, sums);
    } else {
      sums[0] = ashlar_depthwise8_sum(t);
    }
    for (i = 0; i < count; ++i) {
      const float steps = (float)ashlar_sum8(sums[i], bias[channel + i]) * factors[channel + i];
      dst[(channel + i) * s->dst.channel] =
          (uint8_t)(ashlar_round8(steps, s->low, s->high) + s->zero_point);
    }
    t->src += count * t->step;
    t->filter += count;
  }
}

void ashlar_depthwise8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, void* dst) {
  const ashlar_conv8_shape* const s = shape;
  int32_t n, oh, ow;
  ashlar_depthwise8_taps t;
  t.row_bytes = s->h.dilation * s->src.row;
  t.column_bytes = s->w.dilation * s->src.column;
  t.row_weights = s->w.window * s->groups;
  t.column_weights = s->groups;
  t.step = s->src.channel;
  t.flip = s->src_flip;
  t.zero_point = s->src_zero_point;
  for (n = 0; n < s->batch; ++n) {
    for (oh = 0; oh < s->h.output; ++oh) {
      const ashlar_taps rows = ashlar_taps_inside(&s->h, oh);
      for (ow = 0; ow < s->w.output; ++ow) {
        const ashlar_taps columns = ashlar_taps_inside(&s->w, ow);
        t.rows = rows.end - rows.begin;
        t.columns = columns.end - columns.begin;
        t.src = (const uint8_t*)src + n * s->src.image + rows.first * s->src.row +
                columns.first * s->src.column;
        t.filter =
            (const int8_t*)filter + rows.begin * t.row_weights + columns.begin * t.column_weights;
        ashlar_depthwise8_pixel(
            s, &t, bias, factors,
            (uint8_t*)dst + n * s->dst.image + oh * s->dst.row + ow * s->dst.column);
      }
    }
  }
}

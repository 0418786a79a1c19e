// Convolution of bytes, pixel by pixel, four output channels at a time.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_CORE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_CORE_H_

#include "runtime/mcu/c99/conv8_part_shape.h"
#include "runtime/mcu/c99/conv8_shape.h"
#include "runtime/mcu/c99/conv8_sum_shape.h"
#include "runtime/mcu/c99/dot8.h"
#include "runtime/mcu/c99/pixel.h"
#include "runtime/mcu/c99/round8.h"
#include "runtime/mcu/c99/taps.h"

// Returns the output byte for a rounded sum. `z` is the byte to add, if `sum` is not null.
static inline uint8_t ashlar_conv8_byte(const ashlar_conv8_shape* s,
                                        const ashlar_conv8_sum_shape* sum, float steps,
                                        const uint8_t* z) {
  const int32_t rounded = ashlar_round8(steps, s->low, s->high);
  int32_t other;
  if (sum == NULL) return (uint8_t)(rounded + s->zero_point);
  other = (*z ^ sum->z_flip) - sum->z_zero_point;
  if (sum->fixed.shift > 0) {
    steps = ashlar_fixed_sum(&sum->fixed, rounded, other);
  } else {
    const float left = (float)rounded * sum->sum_scale, right = (float)other * sum->z_scale;
    steps = (left + right) / sum->scale;
  }
  return (uint8_t)(ashlar_round8(steps, sum->low, sum->high) + sum->zero_point);
}

// Computes all channels of a pixel. `z`: what `sum` adds, or the sums of the part before.
static inline void ashlar_conv8_pixel(const ashlar_conv8_shape* s,
                                      const ashlar_conv8_sum_shape* sum,
                                      const ashlar_conv8_part_shape* part, const ashlar_pixel* at,
                                      const uint8_t* src, const int8_t* filter, const int32_t* bias,
                                      const float* factors, const void* z, void* dst) {
  const ashlar_taps rows = ashlar_taps_inside(&s->h, at->row);
  const ashlar_taps columns = ashlar_taps_inside(&s->w, at->column);
  const int32_t channels = s->in_channels;
  const int32_t row_bytes = 4 * ((s->w.window * channels + 3) & ~3);  // of four filters
  const ashlar_runs runs = ashlar_runs_inside(&s->w, &s->src, &columns, channels);
  const uint8_t* const first =
      src + at->image * s->src.image + rows.first * s->src.row + columns.first * s->src.column;
  int32_t group, channel, y, x, lane;
  const int32_t to = ashlar_offset_of(&s->dst, at);
  const uint8_t* const addend =
      sum == NULL ? NULL : (const uint8_t*)z + ashlar_offset_of(&sum->z, at);
  for (group = 0; group < s->groups; ++group) {
    const uint8_t* const image = first + group * channels * s->src.channel;
    for (channel = 0; channel < s->out_channels; channel += 4, filter += s->h.window * row_bytes) {
      const int32_t output = group * s->out_channels + channel;
      const int32_t rest = s->out_channels - channel;
      const int32_t lanes = rest < 4 ? rest : 4;
      int32_t sums[4];
      sums[0] = sums[1] = sums[2] = sums[3] = 0;  // compilers call memset for an initialiser
      for (y = rows.begin; y < rows.end; ++y) {
        const uint8_t* const line = image + (y - rows.begin) * s->h.dilation * s->src.row;
        for (x = 0; x < runs.count; ++x) {
          ashlar_dot8(s, line + x * runs.step, filter + y * row_bytes,
                      (columns.begin + x) * channels, runs.length, sums);
        }
      }
      for (lane = 0; lane < lanes; ++lane) {
        const int32_t c = output + lane, place = to + c * s->dst.channel;
        int32_t total = ashlar_sum8(sums[lane], bias[c]);
        if (part != NULL && z != NULL) {
          const int32_t from = ashlar_offset_of(&part->z, at) + c * part->z.channel;
          total = ashlar_sum8(total, ((const int32_t*)z)[from]);
        }
        if (part != NULL && part->unfinished) {
          ((int32_t*)dst)[place] = total;
          continue;
        }
        ((uint8_t*)dst)[place] = ashlar_conv8_byte(
            s, sum, (float)total * factors[c], sum == NULL ? NULL : addend + c * sum->z.channel);
      }
    }
  }
}

static inline void ashlar_conv8_image(const ashlar_conv8_shape* s,
                                      const ashlar_conv8_sum_shape* sum,
                                      const ashlar_conv8_part_shape* part, const uint8_t* src,
                                      const int8_t* filter, const int32_t* bias,
                                      const float* factors, const void* z, void* dst) {
  ashlar_pixel at;
  for (at.image = 0; at.image < s->batch; ++at.image) {
    for (at.row = 0; at.row < s->h.output; ++at.row) {
      for (at.column = 0; at.column < s->w.output; ++at.column) {
        ashlar_conv8_pixel(s, sum, part, &at, src, filter, bias, factors, z, dst);
      }
    }
  }
}

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_CORE_H_

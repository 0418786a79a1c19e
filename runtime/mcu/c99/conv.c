#include "runtime/mcu/c99/conv.h"

#include "runtime/mcu/c99/clamp.h"
#include "runtime/mcu/c99/pixel.h"
#include "runtime/mcu/c99/taps.h"

// Adds to four sums the products of `count` inputs, `step` elements apart, with weights stored in
// groups of four. Adds the products to each other first, so that long sums round less. Not inlined,
// so that the sums stay in registers.
ASHLAR_APART static void ashlar_dot(const float* x, int32_t step, const float* weights,
                                    int32_t count, float* sums) {
  const float* const end = weights + 4 * count;
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (; weights != end; weights += 4, x += step) {
    s0 += *x * weights[0];
    s1 += *x * weights[1];
    s2 += *x * weights[2];
    s3 += *x * weights[3];
  }
  sums[0] += s0;
  sums[1] += s1;
  sums[2] += s2;
  sums[3] += s3;
}

// Computes all channels of a pixel.
static void ashlar_conv_pixel(const ashlar_conv_shape* s, const ashlar_pixel* at, const float* src,
                              const float* filter, const float* bias, const float* z, float* dst) {
  const ashlar_taps rows = ashlar_taps_inside(&s->h, at->row);
  const ashlar_taps columns = ashlar_taps_inside(&s->w, at->column);
  const int32_t channels = s->in_channels;
  const int32_t products = s->h.window * s->w.window * channels;
  const ashlar_runs runs = ashlar_runs_inside(&s->w, &s->src, &columns, channels);
  const float* const first =
      src + at->image * s->src.image + rows.first * s->src.row + columns.first * s->src.column;
  float* const pixel = dst + ashlar_offset_of(&s->dst, at);
  const float* const addend = z == NULL ? NULL : z + ashlar_offset_of(&s->z, at);
  int32_t group, channel, y, x, lane;
  for (group = 0; group < s->groups; ++group) {
    const float* const image = first + group * channels * s->src.channel;
    for (channel = 0; channel < s->out_channels; channel += 4, filter += 4 * products) {
      const int32_t output = group * s->out_channels + channel;
      const int32_t rest = s->out_channels - channel;
      const int32_t lanes = rest < 4 ? rest : 4;
      float sums[4] = {0, 0, 0, 0};
      for (y = rows.begin; y < rows.end; ++y) {
        const float* const line = image + (y - rows.begin) * s->h.dilation * s->src.row;
        const float* const weights = filter + 4 * (y * s->w.window + columns.begin) * channels;
        for (x = 0; x < runs.count; ++x) {
          ashlar_dot(line + x * runs.step, s->src.channel, weights + 4 * x * channels, runs.length,
                     sums);
        }
      }
      for (lane = 0; lane < lanes; ++lane) {
        const int32_t c = output + lane;
        float sum = sums[lane];
        if (bias != NULL) sum += bias[c];
        if (z != NULL) sum += addend[c * s->z.channel];
        pixel[c * s->dst.channel] = ashlar_clamp(sum, s->low, s->high);
      }
    }
  }
}

void ashlar_conv(const ashlar_conv_shape* shape, const void* src, const void* filter,
                 const void* bias, const void* z, void* dst) {
  ashlar_pixel at;
  for (at.image = 0; at.image < shape->batch; ++at.image) {
    for (at.row = 0; at.row < shape->h.output; ++at.row) {
      for (at.column = 0; at.column < shape->w.output; ++at.column) {
        ashlar_conv_pixel(shape, &at, (const float*)src, (const float*)filter, (const float*)bias,
                          (const float*)z, (float*)dst);
      }
    }
  }
}

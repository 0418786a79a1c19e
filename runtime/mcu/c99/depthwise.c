#include "runtime/mcu/c99/depthwise.h"

#include "runtime/mcu/c99/clamp.h"
#include "runtime/mcu/c99/pixel.h"
#include "runtime/mcu/c99/taps.h"

enum { ASHLAR_DEPTHWISE_LANES = 16 };  // channels summed at a time

// The tensors at a pixel: the first tap inside the image, and the pixel's first channel in the
// others.
typedef struct {
  const float *src, *filter, *bias, *z;
  float* dst;
} ashlar_depthwise_pixel;

// Computes `count` channels of a pixel, at most ASHLAR_DEPTHWISE_LANES, from `first` on.
static void ashlar_depthwise_lanes(const ashlar_conv_shape* s, const ashlar_taps* rows,
                                   const ashlar_taps* columns, const ashlar_depthwise_pixel* at,
                                   int32_t first, int32_t count) {
  float sums[ASHLAR_DEPTHWISE_LANES];
  int32_t y, x, i;
  for (i = 0; i < count; ++i) sums[i] = at->bias == NULL ? 0.0f : at->bias[first + i];
  for (y = rows->begin; y < rows->end; ++y) {
    const float* const line = at->src + (y - rows->begin) * s->h.dilation * s->src.row;
    for (x = columns->begin; x < columns->end; ++x) {
      const float* from =
          line + (x - columns->begin) * s->w.dilation * s->src.column + first * s->src.channel;
      const float* const weights = at->filter + (y * s->w.window + x) * s->groups + first;
      for (i = 0; i < count; ++i, from += s->src.channel) sums[i] += *from * weights[i];
    }
  }
  for (i = 0; i < count; ++i) {
    if (at->z != NULL) sums[i] += at->z[(first + i) * s->z.channel];
    at->dst[(first + i) * s->dst.channel] = ashlar_clamp(sums[i], s->low, s->high);
  }
}

void ashlar_depthwise(const ashlar_conv_shape* shape, const void* src, const void* filter,
                      const void* bias, const void* z, void* dst) {
  const ashlar_conv_shape* const s = shape;
  ashlar_depthwise_pixel tensors = {NULL, (const float*)filter, (const float*)bias, NULL, NULL};
  ashlar_pixel at;
  int32_t first;
  for (at.image = 0; at.image < s->batch; ++at.image) {
    for (at.row = 0; at.row < s->h.output; ++at.row) {
      const ashlar_taps rows = ashlar_taps_inside(&s->h, at.row);
      for (at.column = 0; at.column < s->w.output; ++at.column) {
        const ashlar_taps columns = ashlar_taps_inside(&s->w, at.column);
        tensors.src = (const float*)src + at.image * s->src.image + rows.first * s->src.row +
                      columns.first * s->src.column;
        tensors.z = z == NULL ? NULL : (const float*)z + ashlar_offset_of(&s->z, &at);
        tensors.dst = (float*)dst + ashlar_offset_of(&s->dst, &at);
        for (first = 0; first < s->groups; first += ASHLAR_DEPTHWISE_LANES) {
          const int32_t rest = s->groups - first;
          ashlar_depthwise_lanes(s, &rows, &columns, &tensors, first,
                                 rest < ASHLAR_DEPTHWISE_LANES ? rest : ASHLAR_DEPTHWISE_LANES);
        }
      }
    }
  }
}

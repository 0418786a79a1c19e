#include "runtime/mcu/c99/interpolate.h"

// The taps of one element along both axes: the first tap's index and weight; the others follow in
// steps of y or x.
typedef struct {
  const int32_t *y_index, *x_index;
  const float *y_weight, *x_weight;
} ashlar_interpolate_taps;

// Returns the weighted sum of elements; `src` is the first one along both axes.
static float ashlar_interpolate_one(const ashlar_interpolate_shape* s,
                                    const ashlar_interpolate_taps* at, const float* src) {
  const int32_t x_step = s->inner, y_step = s->middle * s->x_input * s->inner;
  float sum = 0;
  int32_t i, k;
  if (*at->y_index < 0 || *at->x_index < 0) return s->outside;
  for (i = 0; i < s->y_taps; ++i) {
    const float* const line = src + at->y_index[i * s->y] * y_step;
    float of_line = 0;
    for (k = 0; k < s->x_taps; ++k) {
      of_line += at->x_weight[k * s->x] * line[at->x_index[k * s->x] * x_step];
    }
    sum += at->y_weight[i * s->y] * of_line;
  }
  return sum;
}

void ashlar_interpolate(const ashlar_interpolate_shape* shape, const void* src, const void* indices,
                        const void* weights, void* dst) {
  const ashlar_interpolate_shape* const s = shape;
  const int32_t y_places = s->y_taps * s->y;
  const float* image = (const float*)src;
  float* to = (float*)dst;
  int32_t outer, y, middle, x, inner;
  for (outer = 0; outer < s->outer; ++outer) {
    for (y = 0; y < s->y; ++y) {
      for (middle = 0; middle < s->middle; ++middle) {
        const float* const line = image + middle * s->x_input * s->inner;
        for (x = 0; x < s->x; ++x) {
          ashlar_interpolate_taps at;
          at.y_index = (const int32_t*)indices + y;
          at.x_index = (const int32_t*)indices + y_places + x;
          at.y_weight = (const float*)weights + y;
          at.x_weight = (const float*)weights + y_places + x;
          for (inner = 0; inner < s->inner; ++inner) {
            *to++ = ashlar_interpolate_one(s, &at, line + inner);
          }
        }
      }
    }
    image += s->y_input * s->middle * s->x_input * s->inner;
  }
}

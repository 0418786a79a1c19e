#include "runtime/mcu/c99/reduce.h"

enum { ASHLAR_REDUCE_RUN = 64 };  // elements added before their sum is

// Sums runs of elements apart, so that long sums round less.
static float ashlar_sum_along(const ashlar_reduce_shape* s, const float* src) {
  float sum = 0, of_run = 0;
  int32_t i;
  for (i = 0; i < s->axis; ++i, src += s->inner) {
    if (i % ASHLAR_REDUCE_RUN == 0) {
      sum += of_run;
      of_run = 0;
    }
    of_run += s->function == ASHLAR_SUM ? *src : *src * *src;
  }
  return (sum + of_run) / s->count;
}

// Returns NaN if an element is.
static float ashlar_extreme_along(const ashlar_reduce_shape* s, const float* src) {
  float extreme = *src;
  int32_t i;
  for (i = 1; i < s->axis; ++i) {
    const float x = src[i * s->inner];
    const int further = s->function == ASHLAR_LEAST ? x < extreme : x > extreme;
    if (further || x != x) extreme = x;
  }
  return extreme;
}

void ashlar_reduce(const ashlar_reduce_shape* shape, const void* src, void* dst) {
  const ashlar_reduce_shape* const s = shape;
  const int is_sum = s->function == ASHLAR_SUM || s->function == ASHLAR_SUM_OF_SQUARES;
  const float* from = (const float*)src;
  float* to = (float*)dst;
  int32_t outer, inner;
  for (outer = 0; outer < s->outer; ++outer, from += s->axis * s->inner) {
    for (inner = 0; inner < s->inner; ++inner) {
      *to++ = is_sum ? ashlar_sum_along(s, from + inner) : ashlar_extreme_along(s, from + inner);
    }
  }
}

// Visits the windows of an image of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_

#include "runtime/mcu/c99/pixel.h"
#include "runtime/mcu/c99/pool_shape.h"
#include "runtime/mcu/c99/taps.h"

// A function that reduces a window of one channel, which begins at `src`.
typedef float (*ashlar_pool_window)(const ashlar_pool_shape* s, const ashlar_taps* rows,
                                    const ashlar_taps* columns, const float* src);

// Inlined, so that each function calls its own window's function directly.
static inline void ashlar_pool_windows(const ashlar_pool_shape* s, ashlar_pool_window window,
                                       const float* src, float* dst) {
  ashlar_pixel at;
  int32_t c;
  for (at.image = 0; at.image < s->batch; ++at.image) {
    for (at.row = 0; at.row < s->h.output; ++at.row) {
      const ashlar_taps rows = ashlar_taps_inside(&s->h, at.row);
      for (at.column = 0; at.column < s->w.output; ++at.column) {
        const ashlar_taps columns = ashlar_taps_inside(&s->w, at.column);
        const float* const from =
            src + at.image * s->src.image + rows.first * s->src.row + columns.first * s->src.column;
        float* const to = dst + ashlar_offset_of(&s->dst, &at);
        for (c = 0; c < s->channels; ++c) {
          to[c * s->dst.channel] = window(s, &rows, &columns, from + c * s->src.channel);
        }
      }
    }
  }
}

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_

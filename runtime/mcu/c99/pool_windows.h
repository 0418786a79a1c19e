// Visits the windows of an image of floats or bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_

#include "runtime/mcu/c99/pixel.h"
#include "runtime/mcu/c99/taps.h"

// Defines a function `name` of elements `T`. `window` is a function that reduces a window of one
// channel, which begins at its last argument.
#define ASHLAR_POOL_WINDOWS(name, shape_type, T, window)                                    \
  void name(const shape_type* shape, const void* src, void* dst) {                          \
    const shape_type* const s = shape;                                                      \
    ashlar_pixel at;                                                                        \
    int32_t c;                                                                              \
    for (at.image = 0; at.image < s->batch; ++at.image) {                                   \
      for (at.row = 0; at.row < s->h.output; ++at.row) {                                    \
        const ashlar_taps rows = ashlar_taps_inside(&s->h, at.row);                         \
        for (at.column = 0; at.column < s->w.output; ++at.column) {                         \
          const ashlar_taps columns = ashlar_taps_inside(&s->w, at.column);                 \
          const T* const from = (const T*)src + at.image * s->src.image +                   \
                                rows.first * s->src.row + columns.first * s->src.column;    \
          T* const to = (T*)dst + ashlar_offset_of(&s->dst, &at);                           \
          for (c = 0; c < s->channels; ++c) {                                               \
            to[c * s->dst.channel] = window(s, &rows, &columns, from + c * s->src.channel); \
          }                                                                                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
  }

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_WINDOWS_H_

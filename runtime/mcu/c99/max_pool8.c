#include "runtime/mcu/c99/max_pool8.h"

#include "runtime/mcu/c99/pool_windows.h"

static uint8_t ashlar_max8_of_window(const ashlar_max_pool8_shape* s, const ashlar_taps* rows,
                                     const ashlar_taps* columns, const uint8_t* src) {
  int32_t largest = 0, y, x;
  for (y = rows->begin; y < rows->end; ++y, src += s->h.dilation * s->src.row) {
    const uint8_t* from = src;
    for (x = columns->begin; x < columns->end; ++x, from += s->w.dilation * s->src.column) {
      const int32_t value = *from ^ s->src_flip;
      if (value > largest) largest = value;
    }
  }
  return (uint8_t)(largest ^ s->src_flip);
}

ASHLAR_POOL_WINDOWS(ashlar_max_pool8, ashlar_max_pool8_shape, uint8_t, ashlar_max8_of_window)

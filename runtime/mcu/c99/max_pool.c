#include "runtime/mcu/c99/max_pool.h"

#include "runtime/mcu/c99/pool_windows.h"

static float ashlar_max_of_window(const ashlar_pool_shape* s, const ashlar_taps* rows,
                                  const ashlar_taps* columns, const float* src) {
  float largest = *src;
  int32_t y, x;
  for (y = rows->begin; y < rows->end; ++y, src += s->h.dilation * s->src.row) {
    const float* from = src;
    for (x = columns->begin; x < columns->end; ++x, from += s->w.dilation * s->src.column) {
      if (*from > largest || *from != *from) largest = *from;
    }
  }
  return largest;
}

ASHLAR_POOL_WINDOWS(ashlar_max_pool, ashlar_pool_shape, float, ashlar_max_of_window)

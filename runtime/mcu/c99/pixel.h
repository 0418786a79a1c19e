// Pixels of an image.
#ifndef ASHLAR_RUNTIME_MCU_C99_PIXEL_H_
#define ASHLAR_RUNTIME_MCU_C99_PIXEL_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t image, row, column;
} ashlar_pixel;

// Returns the offset of a pixel's first channel.
static inline int32_t ashlar_offset_of(const ashlar_steps* steps, const ashlar_pixel* at) {
  return at->image * steps->image + at->row * steps->row + at->column * steps->column;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_PIXEL_H_

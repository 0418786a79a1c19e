// The taps of a window that are inside the image.
#ifndef ASHLAR_RUNTIME_MCU_C99_TAPS_H_
#define ASHLAR_RUNTIME_MCU_C99_TAPS_H_

#include "runtime/mcu/c99/window.h"

// The taps [begin, end) of one output, and the input element that tap `begin` reads.
typedef struct {
  int32_t begin, end, first;
} ashlar_taps;

static inline ashlar_taps ashlar_taps_inside(const ashlar_axis* axis, int32_t output) {
  const int32_t origin = output * axis->stride - axis->padding;
  ashlar_taps taps;
  taps.begin = origin < 0 ? (axis->dilation - 1 - origin) / axis->dilation : 0;
  taps.end = axis->input <= origin ? 0 : (axis->input - origin - 1) / axis->dilation + 1;
  if (taps.end > axis->window) taps.end = axis->window;
  if (taps.end < taps.begin) taps.end = taps.begin;
  taps.first = origin + taps.begin * axis->dilation;
  return taps;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_TAPS_H_

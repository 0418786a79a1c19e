// The taps of a window that are inside the image, and their products as runs.
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

// The products of a row of taps, as `count` runs of `length` elements, `step` elements apart.
typedef struct {
  int32_t count, length, step;
} ashlar_runs;

// Returns one run if the taps are adjacent both in the image and in the filter, otherwise one for
// each tap.
static inline ashlar_runs ashlar_runs_inside(const ashlar_axis* axis, const ashlar_steps* src,
                                             const ashlar_taps* columns, int32_t channels) {
  const int32_t taps = columns->end - columns->begin;
  ashlar_runs runs;
  runs.step = axis->dilation * src->column;
  if (src->channel == 1 && runs.step == channels) {
    runs.count = 1;
    runs.length = taps * channels;
  } else {
    runs.count = taps;
    runs.length = channels;
  }
  return runs;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_TAPS_H_

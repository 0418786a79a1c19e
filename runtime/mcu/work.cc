#include "runtime/mcu/work.h"

extern "C" {
#include "runtime/mcu/c99/taps.h"
}

namespace ashlar::mcu {

TapCounts CountTaps(const ashlar_axis& axis, int32_t channels) {
  TapCounts counts;
  for (int32_t output = 0; output < axis.output; ++output) {
    const ashlar_taps taps = ashlar_taps_inside(&axis, output);
    const int32_t inside = taps.end - taps.begin, run = inside * channels;
    counts.taps += inside;
    if (inside > 0) ++counts.outputs_with_taps;
    if (taps.begin * channels % 4 != 0) continue;  // weights of a vector are not adjacent
    counts.fours += run / 4 * 4;
    counts.sixteens += run / 16 * 16;
  }
  return counts;
}

}  // namespace ashlar::mcu

// Draws the losses of a training.
#ifndef ASHLAR_TOOLS_REPORT_LOSS_CURVE_H_
#define ASHLAR_TOOLS_REPORT_LOSS_CURVE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace ashlar {

// Returns one self-contained SVG: steps across, losses up on a logarithmic scale; each step a thin
// line, the mean of each epoch a thick one. Losses that are not positive numbers are left out.
std::string DrawLossCurve(const std::string& title, absl::Span<const float> losses,
                          int64_t steps_per_epoch);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_LOSS_CURVE_H_

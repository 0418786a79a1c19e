// The losses of a training as a picture.
#ifndef ASHLAR_TOOLS_LOSS_CURVE_H_
#define ASHLAR_TOOLS_LOSS_CURVE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace ashlar {

// One self-contained SVG: steps across, losses up on a logarithmic scale; each step a thin line,
// the mean of each epoch a thick one. Losses that are no positive numbers are left out.
std::string DrawLossCurve(const std::string& title, absl::Span<const float> losses,
                          int64_t steps_per_epoch);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_LOSS_CURVE_H_

// Constants that broadcast over an image as one value per channel.
#ifndef ASHLAR_OPR_BASE_PER_CHANNEL_H_
#define ASHLAR_OPR_BASE_PER_CHANNEL_H_

#include <optional>
#include <vector>

#include "graph/operator.h"

namespace ashlar {

// Returns the values for an image [N, channels, H, W], from an input of shape [C, 1, 1] or [1, C,
// 1, 1], or with one element. nullopt for other shapes, or if the value is not known.
std::optional<std::vector<double>> PerChannel(const InputInfo& info, int64_t channels);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_PER_CHANNEL_H_

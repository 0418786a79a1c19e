// Constants that broadcast over an image as one value a channel.
#ifndef ASHLAR_OPR_PER_CHANNEL_H_
#define ASHLAR_OPR_PER_CHANNEL_H_

#include <optional>
#include <vector>

#include "graph/operator.h"

namespace ashlar {

// The values for an image [N, channels, H, W] of an input of shape [C, 1, 1], [1, C, 1, 1] or with
// one element; nullopt for other shapes, and where the value is not known.
std::optional<std::vector<double>> PerChannel(const InputInfo& info, int64_t channels);

}  // namespace ashlar

#endif  // ASHLAR_OPR_PER_CHANNEL_H_

// Arrays and pictures in the order and numbers that inputs have: dimensions, batch, statistics.
#ifndef ASHLAR_TOOLS_INPUT_ARRAY_H_
#define ASHLAR_TOOLS_INPUT_ARRAY_H_

#include <vector>

#include "graph/shape.h"
#include "graph/tensor.h"

namespace ashlar {

// Transposes [N, H, W, C] to [N, C, H, W].
HostTensor ToChannelsFirst(const HostTensor& x);
// Transposes [N, C, H, W] to [N, H, W, C].
HostTensor ToChannelsLast(const HostTensor& x);

// Returns the value of --mean or --scale for a channel.
double OfChannel(const std::vector<double>& values, size_t c, double fallback);

// Computes (x - mean[c]) * scale[c] for the channels c of dimension 1, in Float32.
HostTensor Normalised(const HostTensor& x, const std::vector<double>& mean,
                      const std::vector<double>& scale);

// Rounds to integers, as an integer input takes the results of --mean and --scale.
HostTensor Rounded(HostTensor x);

// Whether an array for such an input holds the pixels of a picture: rows of red, green and blue
// bytes.
bool ArePixels(const HostTensor& array, const TensorType& type, bool nhwc);

// Adds the first dimension to an array that is one image of an input.
HostTensor WithBatch(const HostTensor& array, const TensorType& type, bool nhwc);

// Joins dimension 0 of an array of runs {runs, batch, ...} with the batch of an input.
HostTensor WithoutRuns(const HostTensor& array, const TensorType& type);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INPUT_ARRAY_H_

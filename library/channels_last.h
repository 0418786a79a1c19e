// Models whose images have their channels last at the border.
#ifndef ASHLAR_LIBRARY_CHANNELS_LAST_H_
#define ASHLAR_LIBRARY_CHANNELS_LAST_H_

#include "absl/status/statusor.h"
#include "library/model.h"

namespace ashlar {

// Returns the model with {N,H,W,C} in place of each input and output {N,C,H,W}; names stay. The
// conversion is a part of the graph, so a plan counts its memory and computes it in tiles. A model
// that has its channels last already stays as it is.
// InvalidArgument if no input or output has four dimensions; UsePlainWeights's errors.
absl::StatusOr<Model> WithChannelsLast(Model model);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_CHANNELS_LAST_H_

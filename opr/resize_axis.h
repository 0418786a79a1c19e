// The geometry of Resize along one axis: the inputs of each output, and their weights.
#ifndef ASHLAR_OPR_RESIZE_AXIS_H_
#define ASHLAR_OPR_RESIZE_AXIS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/region.h"
#include "graph/site.h"
#include "opr/base/fixed_point_resize.h"
#include "opr/resize_param.h"

namespace ashlar {

// Outputs and inputs are numbered as in the whole problem. This axis computes outputs
// [output_begin, output_begin + output) from the inputs [input_begin, input_begin + input).
struct ResizeAxis {
  int axis = 0;
  int64_t whole_input = 0, whole_output = 0;
  int64_t input_begin = 0, input = 0;
  int64_t output_begin = 0, output = 0;
  double scale = 1;                   // outputs over inputs, as given
  double roi_begin = 0, roi_end = 1;  // for kTfCropAndResize
  bool fixed_point = false;           // positions and weights are ResizeBytes'
};

// Returns the axes of `param.axes`, in that order. Errors are InvalidArgument and name the
// parameter.
absl::StatusOr<std::vector<ResizeAxis>> ResizeAxesOf(const ResizeParam& param,
                                                     absl::Span<const InputInfo> inputs);

// Returns the inputs of the whole that `outputs` of the whole need, at least one.
Range NeededBy(const ResizeParam& param, const ResizeAxis& axis, const Range& outputs);
// Returns the range from the first to the last output of the whole that needs `inputs`.
Range NeedingOf(const ResizeParam& param, const ResizeAxis& axis, const Range& inputs);

// Returns the positions of the whole's outputs, for ResizeBytes.
FixedPointPositions FixedPointPositionsOf(const ResizeParam& param, const ResizeAxis& axis);

// For each wanted output `taps` inputs, counted from the first given input, and their weights; tap
// t of output o is at t * output + o. If the first index is -1, the output is outside and equals
// param.extrapolation.
struct ResizeTaps {
  int64_t taps = 1;
  std::vector<int32_t> index;
  std::vector<double> weight;
};
ResizeTaps TapsOf(const ResizeParam& param, const ResizeAxis& axis);
// Returns whether some of the outputs are outside.
bool Extrapolates(const ResizeTaps& taps, int64_t outputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_AXIS_H_

// The geometry of Resize along one axis: which inputs an output is made of, and with what weights.
#ifndef ASHLAR_OPR_RESIZE_AXIS_H_
#define ASHLAR_OPR_RESIZE_AXIS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/region.h"
#include "graph/site.h"
#include "opr/resize.h"

namespace ashlar {

// Outputs and inputs are numbered as in the whole problem; this one makes [output_begin,
// output_begin + output) of them from the inputs [input_begin, input_begin + input).
struct ResizeAxis {
  int axis = 0;
  int64_t whole_input = 0, whole_output = 0;
  int64_t input_begin = 0, input = 0;
  int64_t output_begin = 0, output = 0;
  double scale = 1;                   // outputs over inputs, as it was given
  double roi_begin = 0, roi_end = 1;  // of kTfCropAndResize
};

// The axes of `param.axes`, in that order. Errors are InvalidArgument and name the parameter.
absl::StatusOr<std::vector<ResizeAxis>> ResizeAxesOf(const ResizeParam& param,
                                                     absl::Span<const InputInfo> inputs);

// The inputs of the whole that `outputs` of the whole need, at least one.
Range NeededBy(const ResizeParam& param, const ResizeAxis& axis, const Range& outputs);
// From the first output of the whole that needs `inputs` to the last.
Range NeedingOf(const ResizeParam& param, const ResizeAxis& axis, const Range& inputs);

// For each output that is wanted `taps` inputs, counted from the first that is given, and their
// weights; tap t of output o stands at t * output + o. Where the first index is -1 the output lies
// outside and is param.extrapolation.
struct ResizeTaps {
  int64_t taps = 1;
  std::vector<int32_t> index;
  std::vector<double> weight;
};
ResizeTaps TapsOf(const ResizeParam& param, const ResizeAxis& axis);

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESIZE_AXIS_H_

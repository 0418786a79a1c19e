// Exports operators that move elements and change shapes.
#include <algorithm>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/base/host_value.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/get_var_shape.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "serialization/onnx/export/operators.h"

namespace ashlar {

absl::StatusOr<OnnxValues> OnnxReshape(OnnxEmitter& emitter) {
  const Shape& shape = emitter.output_type().shape;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (shape.num_elements() == 0) {
    // Before operator set 14, 0 means the input's dimension.
    if (!emitter.rich()) return absl::UnimplementedError("a shape with a 0");
    return emitter.Add("Reshape", {emitter.input(0), emitter.Ints(dims)},
                       {{"allowzero", int64_t{1}}});
  }
  const std::vector<InputInfo> infos = emitter.infos();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> given, IntegerVector(infos[1], "the target"));
  const auto open = std::find(given.begin(), given.end(), -1);
  if (open != given.end()) {  // stays variable; 0: as in the input
    dims[static_cast<size_t>(open - given.begin())] =
        emitter.op<Reshape>().param().follows ? 0 : -1;
    // A first dimension that is computed from the input's shape equals the input's.
    const Shape& from = emitter.input_type(0).shape;
    const bool computed = open != given.begin() && emitter.constant(1) == nullptr;
    if (computed && from.rank() > 0 && shape[0] == from[0]) dims[0] = 0;
  }
  return emitter.Add("Reshape", {emitter.input(0), emitter.Ints(dims)});
}

absl::StatusOr<OnnxValues> OnnxDimshuffle(OnnxEmitter& emitter) {
  const std::vector<int64_t>& pattern = emitter.op<Dimshuffle>().param().pattern;
  std::vector<int64_t> kept, added, dropped;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] < 0) {
      added.push_back(static_cast<int64_t>(i));
    } else {
      kept.push_back(pattern[i]);
    }
  }
  for (int64_t axis = 0; axis < emitter.input_type(0).shape.rank(); ++axis) {
    if (std::find(kept.begin(), kept.end(), axis) == kept.end()) dropped.push_back(axis);
  }
  // Renumbers the kept axes without the dropped ones.
  std::vector<int64_t> perm;
  for (int64_t axis : kept) {
    perm.push_back(axis - std::count_if(dropped.begin(), dropped.end(),
                                        [&](int64_t other) { return other < axis; }));
  }
  std::string value = emitter.input(0);
  if (!dropped.empty()) value = emitter.Add("Squeeze", {value, emitter.Ints(dropped)});
  if (!std::is_sorted(perm.begin(), perm.end())) {
    value = emitter.Add("Transpose", {value}, {{"perm", perm}});
  }
  if (!added.empty()) value = emitter.Add("Unsqueeze", {value, emitter.Ints(added)});
  return value;
}

absl::StatusOr<OnnxValues> OnnxSubtensor(OnnxEmitter& emitter) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges,
                          emitter.op<Subtensor>().Ranges(emitter.infos()));
  const Shape& shape = emitter.input_type(0).shape;
  std::vector<int64_t> axes, starts, ends, steps, dropped;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const AxisRange& range = ranges[axis];
    if (range.dropped) dropped.push_back(axis);
    if (range.start == 0 && range.step == 1 && range.count == shape[axis]) continue;
    int64_t end = range.start;
    if (range.count > 0) {
      end += (range.count - 1) * range.step + (range.step > 0 ? 1 : -1);
      // An end before the first element: -1 would mean the last.
      if (end < 0) end = -shape[axis] - 1;
    }
    axes.push_back(axis);
    starts.push_back(range.start);
    ends.push_back(end);
    steps.push_back(range.step);
  }
  std::string value = emitter.input(0);
  if (!axes.empty()) {
    value = emitter.Add("Slice", {value, emitter.Ints(starts), emitter.Ints(ends),
                                  emitter.Ints(axes), emitter.Ints(steps)});
  }
  if (!dropped.empty()) value = emitter.Add("Squeeze", {value, emitter.Ints(dropped)});
  return value;
}

absl::StatusOr<OnnxValues> OnnxConcat(OnnxEmitter& emitter) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < emitter.num_inputs(); ++i) inputs.push_back(emitter.input(i));
  return emitter.Add("Concat", inputs, {{"axis", emitter.op<Concat>().param().axis}});
}

absl::StatusOr<OnnxValues> OnnxGetVarShape(OnnxEmitter& emitter) {
  const int64_t axis = emitter.op<GetVarShape>().param().axis;
  std::string value = emitter.Add("Shape", {emitter.input(0)});
  if (axis != kNoAxis) value = emitter.Add("Gather", {value, emitter.Ints({axis})});
  return emitter.Add("Cast", {value}, {{"to", int64_t{onnx::TensorProto::INT32}}});
}

}  // namespace ashlar

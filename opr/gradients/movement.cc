// Gradients of operators that move elements.
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/base/along_axis.h"
#include "opr/base/axis.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/dimshuffle.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/gradients/gradients.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/rewrites/composition.h"
#include "opr/split.h"
#include "opr/subtensor.h"

namespace ashlar {
namespace {

// Inserts step - 1 zeros after each element along an axis.
int SpreadAlong(Composition& c, int var, int axis, int64_t step) {
  const TensorType type = c.type(var);
  const AxisView view = AroundAxis(type.shape, axis);
  const Shape apart = {view.outer, view.length, 1, view.inner};
  Shape zeros = apart, spread = type.shape;
  zeros[2] = step - 1;
  spread[axis] *= step;
  return c.Reshaped(c.Add<Concat>({2}, {c.Reshaped(var, apart), c.Filled(type.dtype, zeros, 0)}),
                    spread);
}

}  // namespace

absl::Status Concat::Gradient(GradientContext& context) const {
  Gradients g(context);
  ASHLAR_ASSIGN_OR_RETURN(const int axis,
                          NormalizeAxis(param().axis, g.input_type(0).shape.rank()));
  SplitParam pieces;
  pieces.axis = axis;
  for (int i = 0; i < g.num_inputs(); ++i) pieces.sizes.push_back(g.input_type(i).shape[axis]);
  const std::vector<int> parts = g.AddAll<Split>(std::move(pieces), {g.of()});
  for (size_t i = 0; g.status().ok() && i < parts.size(); ++i) g.Set(static_cast<int>(i), parts[i]);
  return std::move(g).Finish();
}

absl::Status Split::Gradient(GradientContext& context) const {
  Gradients g(context);
  std::vector<int> parts;
  for (int i = 0; i < static_cast<int>(param().sizes.size()); ++i) {
    const TensorType piece = g.type(g.output(i));
    parts.push_back(g.has(i) ? g.of(i) : g.Filled(piece.dtype, piece.shape, 0));
  }
  return g.SetOnly(0, g.Add<Concat>({param().axis}, std::move(parts)));
}

// Removes the added elements, and puts zeros in place of removed ones. Other modes are
// differentiated through their composition, which sums repeated elements.
absl::Status Pad::Gradient(GradientContext& context) const {
  if (param().mode != PadMode::kConstant) return Operator::Gradient(context);
  Gradients g(context);
  PadParam back;
  for (const int64_t begin : param().begin) back.begin.push_back(-begin);
  for (const int64_t end : param().end) back.end.push_back(-end);
  return g.SetOnly(0, g.Add<Pad>(std::move(back), {g.of()}));
}

// Moves each element back to its position: inserts zeros if the step is not 1, and pads with zeros.
absl::Status Subtensor::Gradient(GradientContext& context) const {
  Gradients g(context);
  std::vector<InputInfo> infos;
  std::vector<HostTensor> bounds;  // values are valid until the next operator is added
  for (int i = 1; i < g.num_inputs(); ++i) {
    const HostTensor* const bound = context.value(g.input(i));
    bounds.push_back(bound == nullptr ? HostTensor() : *bound);
  }
  infos.push_back({g.input_type(0)});
  for (int i = 1; i < g.num_inputs(); ++i) {
    infos.push_back({g.input_type(i), &bounds[static_cast<size_t>(i) - 1]});
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges, Ranges(infos));
  Shape shape;
  for (const AxisRange& range : ranges) shape.push_back(range.count);
  int y = g.Reshaped(g.of(), shape);
  PadParam around;
  for (int axis = 0; axis < static_cast<int>(ranges.size()); ++axis) {
    const AxisRange& range = ranges[static_cast<size_t>(axis)];
    const int64_t size = infos[0].type.shape[axis], step = std::abs(range.step);
    if (range.step < 0) y = g.Slice(y, axis, range.count - 1, -1, -1);
    if (step > 1) y = SpreadAlong(g, y, axis, step);
    // The zeros inserted after the last element may lie outside.
    const int64_t first = range.step < 0 ? range.start - (range.count - 1) * step : range.start;
    around.begin.push_back(first);
    around.end.push_back(size - first - range.count * step);
  }
  return g.SetOnly(0, g.Add<Pad>(std::move(around), {y}));
}

absl::Status Dimshuffle::Gradient(GradientContext& context) const {
  Gradients g(context);
  const int rank = g.input_type(0).shape.rank();
  DimshuffleParam back = {std::vector<int64_t>(static_cast<size_t>(rank), -1)};
  for (size_t i = 0; i < param().pattern.size(); ++i) {
    if (param().pattern[i] >= 0) {
      back.pattern[static_cast<size_t>(param().pattern[i])] = static_cast<int64_t>(i);
    }
  }
  return g.SetOnly(0, g.Add<Dimshuffle>(std::move(back), {g.of()}));
}

absl::Status Reshape::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Reshaped(g.of(), g.input_type(0).shape));
}

absl::Status Expand::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.of());
}

absl::Status RelayoutFormat::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Add<RelayoutFormat>({g.input_type(0).format}, {g.of()}));
}

}  // namespace ashlar

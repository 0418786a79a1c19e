// Operators that move elements, as others that do.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/base/host_value.h"
#include "opr/base/operands.h"
#include "opr/base/strided.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/matrix_mul.h"
#include "opr/pad.h"
#include "opr/pooling.h"
#include "opr/resize.h"
#include "opr/rewrites/composition.h"
#include "opr/scatter.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"

namespace ashlar {
namespace {

// Returns `op` with the zeros around its image added to its padding, if it is an Op.
template <typename Op>
OperatorPtr WithZeros(const Operator& op, const PadParam& zeros) {
  const Op* const window = dynamic_cast<const Op*>(&op);
  if (window == nullptr) return nullptr;
  const WindowPadding padding = window->padding();
  return Padded(*window, {padding.h_begin + zeros.begin[2], padding.h_end + zeros.end[2],
                          padding.w_begin + zeros.begin[3], padding.w_end + zeros.end[3]});
}

// The same for each operator whose padding counts as zeros; null for others, because padding does
// not count for a maximum. A mean of the elements inside the image counts the zeros if it has no
// padding of its own.
OperatorPtr WithZeros(const Operator& op, const PadParam& zeros) {
  if (OperatorPtr made = WithZeros<ConvolutionForward>(op, zeros)) return made;
  if (OperatorPtr made = WithZeros<ConvBiasForward>(op, zeros)) return made;
  const auto* const pooling = dynamic_cast<const PoolingForward*>(&op);
  if (pooling == nullptr || pooling->param().mode == PoolingMode::kMax) return nullptr;
  PoolingParam mean = pooling->param();
  const WindowPadding own = pooling->padding();
  const bool padded = own.h_begin != 0 || own.h_end != 0 || own.w_begin != 0 || own.w_end != 0;
  if (mean.mode == PoolingMode::kAverageCountExcludePadding && padded) return nullptr;
  mean.mode = PoolingMode::kAverage;
  return WithZeros<PoolingForward>(PoolingForward(mean), zeros);
}

}  // namespace

absl::StatusOr<std::vector<int>> Expand::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  Composition c(builder);
  const TensorType x = c.type(inputs[0]);
  const HostTensor* const target = builder.StaticValue(inputs[1]);
  if (target == nullptr) return std::vector<int>();
  const HostTensor shape_value = *target;
  const std::vector<InputInfo> infos = {{x}, InfoOf(shape_value)};
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, ExpandedShape(infos));
  if (x.dtype == DType::kInt64 ||
      x.dtype == DType::kByte) {  // products in these dtypes are not exact
    Shape aligned = output;
    for (int axis = 0; axis < output.rank(); ++axis) {
      const int own = axis - (output.rank() - x.shape.rank());
      aligned[axis] = own < 0 ? 1 : x.shape[own];
    }
    int y = c.Reshaped(inputs[0], aligned);
    for (int axis = 0; axis < output.rank(); ++axis) {
      if (aligned[axis] == output[axis]) continue;
      const HostTensor first = HostTensor::Zeros(DType::kInt32, {output[axis]});
      y = c.Add<Gather>({axis}, {y, c.Constant(first)});
    }
    return std::move(c).Finish({y});
  }
  Shape ones = output;
  for (int i = 1; i <= x.shape.rank(); ++i) {
    if (x.shape[x.shape.rank() - i] != 1) ones[output.rank() - i] = 1;
  }
  return std::move(c).Finish(
      {c.Apply(ScalarFunction::kMul, {inputs[0], c.Filled(x.dtype, ones, 1)})});
}

absl::StatusOr<std::vector<int>> Gather::Compose(GraphBuilder& builder,
                                                 absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[kX]);
  const Shape indices = c.type(inputs[kIndices]).shape;
  ASHLAR_ASSIGN_OR_RETURN(const IndexedRuns runs, RunsOf(x.shape, indices));
  ASHLAR_ASSIGN_OR_RETURN(const Shape output, OutputOf(x.shape, indices));
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  if (!IsFloat(x.dtype) || output.num_elements() == 0 || runs.sizes[0] > kExactInFloat) {
    return std::vector<int>();
  }
  const int64_t size = runs.sizes[0], outer = runs.walk[0];
  const int given =
      c.Reshaped(c.Add<TypeCvt>({DType::kFloat32}, {inputs[kIndices]}), {runs.tuples, 1});
  const auto number = [&](int64_t value) {
    return c.Constant(DType::kFloat32, static_cast<double>(value));
  };
  const int index = c.Apply(F::kSelect, {c.Apply(F::kLess, {given, number(0)}),
                                         c.Apply(F::kAdd, {given, number(size)}), given});
  HostTensor all = HostTensor::Zeros(DType::kFloat32, {1, size});
  for (int64_t i = 0; i < size; ++i) all.Set(i, static_cast<double>(i));
  int chosen = c.Apply(F::kEqual, {index, c.Constant(std::move(all))});
  if (x.dtype != DType::kFloat32) chosen = c.Add<TypeCvt>({x.dtype}, {chosen});
  const int rows = c.Reshaped(inputs[kX], {outer, size, runs.length});
  return std::move(c).Finish({c.Reshaped(c.Add<MatrixMul>({}, {chosen, rows}), output)});
}

std::optional<Replacement> Pad::Absorb(absl::Span<const InputInfo> inputs,
                                       const Consumer& consumer) const {
  const auto none = [](int64_t padding) { return padding == 0; };
  const auto taken_away = [](int64_t padding) { return padding < 0; };
  for (const std::vector<int64_t>* ends : {&param().begin, &param().end}) {
    if (ends->size() != 4 || !std::all_of(ends->begin(), ends->begin() + 2, none) ||
        std::any_of(ends->begin() + 2, ends->end(), taken_away)) {
      return std::nullopt;
    }
  }
  if (param().mode != PadMode::kConstant || param().value != 0 || consumer.via != 0) {
    return std::nullopt;
  }
  OperatorPtr op = WithZeros(consumer.op, param());
  if (op == nullptr) return std::nullopt;
  std::vector<InputInfo> infos(consumer.inputs.begin(), consumer.inputs.end());
  infos[0] = inputs[0];
  if (!op->Infer(infos).ok()) return std::nullopt;  // a window may be entirely in the zeros
  std::vector<Operand> operands = {FromProducer(0)};
  for (int i = 1; i < static_cast<int>(infos.size()); ++i) operands.push_back(FromConsumer(i));
  return Replacement{std::move(op), std::move(operands)};
}

absl::StatusOr<std::vector<int>> Pad::Compose(GraphBuilder& builder,
                                              absl::Span<const int> inputs) const {
  Composition c(builder);
  int y = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxesOf(param(), c.type(y)));
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    const PadAxis& axis = axes[static_cast<size_t>(i)];
    if (axis.kept != c.type(y).shape[i]) y = c.Slice(y, i, axis.first, axis.first + axis.kept);
    const int kept = y;
    const PadAxis rest = {0, axis.kept, axis.before, axis.behind};
    // Runs of outputs that repeat the input forwards, backwards, or one element of it.
    const auto piece = [&](int64_t begin, int64_t end) {
      std::vector<int> parts;
      for (int64_t o = begin; o < end;) {
        if (param().mode == PadMode::kConstant) {
          Shape shape = c.type(y).shape;
          shape[i] = end - begin;
          parts.push_back(c.Filled(c.type(y).dtype, shape, param().value));
          break;
        }
        const int64_t from = rest.InputOf(param().mode, o);
        const int64_t step = o + 1 < end ? rest.InputOf(param().mode, o + 1) - from : int64_t{1};
        int64_t count = 1;
        while ((step == 1 || step == -1) && o + count < end &&
               rest.InputOf(param().mode, o + count) == from + count * step) {
          ++count;
        }
        parts.push_back(
            c.Slice(kept, i, from, from + (count == 1 ? 1 : count * step), count == 1 ? 1 : step));
        o += count;
      }
      return parts;
    };
    std::vector<int> parts = piece(0, rest.before);
    parts.push_back(kept);
    const std::vector<int> behind = piece(rest.before + rest.kept, rest.output());
    parts.insert(parts.end(), behind.begin(), behind.end());
    if (parts.size() > 1) y = c.Add<Concat>({i}, std::move(parts));
  }
  if (y == inputs[0]) y = c.Reshaped(y, c.type(y).shape);  // nothing is padded
  return std::move(c).Finish({y});
}

absl::StatusOr<std::vector<int>> Split::Compose(GraphBuilder& builder,
                                                absl::Span<const int> inputs) const {
  Composition c(builder);
  const auto bound = [&](int64_t value) {
    return c.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1}));
  };
  std::vector<int> outputs;
  int64_t start = 0;
  for (const int64_t size : param().sizes) {
    outputs.push_back(c.Add<Subtensor>(
        {.axis = {param().axis}, .begin = {1}, .end = {1}, .step = {0}, .idx = {0}},
        {inputs[0], bound(start), bound(start + size)}));
    start += size;
  }
  return std::move(c).Finish(std::move(outputs));
}

std::optional<Replacement> Subtensor::Absorb(absl::Span<const InputInfo> inputs,
                                             const Consumer& consumer) const {
  if (consumer.op.type() != kType || consumer.via != 0) return std::nullopt;
  const absl::StatusOr<std::vector<AxisRange>> ranges = Ranges(inputs);
  absl::StatusOr<std::vector<AxisRange>> inner =
      static_cast<const Subtensor&>(consumer.op).Ranges(consumer.inputs);
  if (!ranges.ok() || !inner.ok() || ranges->size() != inner->size()) return std::nullopt;
  for (size_t axis = 0; axis < inner->size(); ++axis) {
    const AxisRange& outer = (*ranges)[axis];
    AxisRange& range = (*inner)[axis];
    range.start = outer.start + range.start * outer.step;
    range.step *= outer.step;  // of steps in the tensor, or of 1
  }
  return BoxOf(*inner, inputs[0].type.shape);
}

}  // namespace ashlar

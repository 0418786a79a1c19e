#include "opr/reduce.h"

#include <cmath>
#include <limits>
#include <utility>

#include "graph/graph_builder.h"
#include "opr/base/host_value.h"
#include "opr/base/scalar_functions.h"
#include "opr/base/strided.h"
#include "opr/pooling.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(Reduce)

namespace {

// How a mode combines values, in Number: it starts with `initial`, then takes each value in turn.
template <typename Number>
struct Gathering {
  Number initial;
  Number (*take)(Number total, Number value);
};

// In the order of ReduceMode. A mean is a sum that is divided at the end.
template <typename N>
constexpr Gathering<N> kGatherings[] = {
    {0, [](N total, N value) { return total + value; }},
    {0, [](N total, N value) { return total + value * value; }},
    {1, [](N total, N value) { return total * value; }},
    {ParameterAs<N>(std::numeric_limits<double>::infinity()),
     [](N total, N value) { return value < total || value != value ? value : total; }},
    {ParameterAs<N>(-std::numeric_limits<double>::infinity()),
     [](N total, N value) { return value > total || value != value ? value : total; }},
    {0, [](N total, N value) { return total + value; }},
};

// Reduces `x` to the shape of `output`, in Number.
template <typename Number>
void EvaluateIn(ReduceMode mode, const HostTensor& x, HostTensor& output) {
  constexpr int64_t kPiece = 1024;
  const Shape& target = output.shape();
  const Gathering<Number>& gathering = kGatherings<Number>[static_cast<size_t>(mode)];
  std::vector<Number> totals(target.num_elements(), gathering.initial);
  Shape shape = x.shape();
  std::array<Strides, 2> strides = {ContiguousStrides(shape), BroadcastStrides(target, shape)};
  JoinDimensions(shape, strides);
  std::array<Number, kPiece> values;
  ForEachRow(shape, strides, kPiece, [&](const std::array<int64_t, 2>& offsets, int64_t n) {
    LoadRow(x, offsets[0], 1, absl::MakeSpan(values.data(), n));
    Number* total = totals.data() + offsets[1];
    const int64_t step = strides[1].back();
    for (int64_t i = 0; i < n; ++i) total[i * step] = gathering.take(total[i * step], values[i]);
  });
  if (mode == ReduceMode::kMean && !totals.empty()) {
    const auto count = static_cast<Number>(x.num_elements() / target.num_elements());
    for (Number& total : totals) total = total / count;
  }
  StoreRow(absl::MakeConstSpan(totals), 0, output);
}

}  // namespace

absl::StatusOr<Shape> Reduce::TargetShape(absl::Span<const InputInfo> inputs) const {
  const Shape& x = inputs[0].type.shape;
  Shape target = x;
  if (param().axis != kNoAxis) {
    ASHLAR_ASSIGN_OR_RETURN(int axis, NormalizeAxis(param().axis, x.rank()));
    target[axis] = 1;
    return target;
  }
  ASHLAR_ASSIGN_OR_RETURN(std::vector<int64_t> dims, IntegerVector(inputs[1], "the target shape"));
  const int leading = x.rank() - static_cast<int>(dims.size());
  for (size_t i = 0; leading >= 0 && i < dims.size(); ++i) {
    if (dims[i] == -1) dims[i] = x[leading + static_cast<int>(i)];
  }
  ASHLAR_ASSIGN_OR_RETURN(target, Shape::Make(dims));
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (leading >= 0 && (target[axis] == 1 || target[axis] == x[leading + axis])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", x.ToString(), " does not reduce to ", target.ToString()));
  }
  return target;
}

absl::StatusOr<std::vector<TensorType>> Reduce::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, param().axis == kNoAxis ? 2 : 1));
  const TensorType& x = inputs[0].type;
  const bool mean = param().mode == ReduceMode::kMean;
  if (x.dtype == DType::kByte || x.dtype == DType::kBool || (mean && !IsFloat(x.dtype))) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", expected ", mean ? "floats" : "numbers"));
  }
  ASHLAR_ASSIGN_OR_RETURN(Shape target, TargetShape(inputs));
  const bool of_nothing = x.shape.num_elements() == 0 && target.num_elements() > 0;
  if (of_nothing && param().mode >= ReduceMode::kMin) {
    return absl::InvalidArgumentError(
        absl::StrCat("least, greatest and mean of no elements are undefined: input is ",
                     x.ToString(), ", output ", target.ToString()));
  }
  return std::vector<TensorType>{{x.dtype, target}};
}

absl::StatusOr<std::vector<HostTensor>> Reduce::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(Shape target, TargetShape(InfosOf(inputs)));
  HostTensor output = HostTensor::Zeros(x.dtype(), target);
  WithNumber(x.dtype(),
             [&]<typename Number>(Number) { EvaluateIn<Number>(param().mode, x, output); });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t Reduce::Computation(const Site& site) const {
  return site.inputs[0].type.shape.num_elements();
}

// Supports the mean of each channel of an image.
QuantizationRule Reduce::quantization_rule(const Site& site) const {
  const Shape &x = site.inputs[0].type.shape, &y = site.outputs[0].shape;
  const bool of_images = param().mode == ReduceMode::kMean && x.rank() == 4 && y.rank() == 4 &&
                         y == Shape{x[0], x[1], 1, 1} && x[2] * x[3] < (1 << 23);
  return of_images ? QuantizationRule::kFollows : QuantizationRule::kFloats;
}

std::optional<Axes> Reduce::AxesOf(const Site& site) const {
  if (param().axis == kNoAxis) return std::nullopt;  // the target shape is fixed
  return AxisIn(param().axis, site.outputs[0].shape);
}

}  // namespace ashlar

#include "opr/resize.h"

#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/base/checks.h"
#include "opr/base/host_value.h"
#include "opr/resize_axis.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Resize)

namespace {

Shape Resized(Shape shape, const std::vector<ResizeAxis>& axes) {
  for (const ResizeAxis& axis : axes) shape[axis.axis] = axis.output;
  return shape;
}

// Resizes one axis of a tensor of any dtype; each output is a copy of one input.
HostTensor Repeat(const HostTensor& x, const ResizeAxis& axis, const ResizeTaps& taps) {
  const AxisView around = AroundAxis(x.shape(), axis.axis);
  HostTensor y = HostTensor::ZerosLike(x, Resized(x.shape(), {axis}));
  const int64_t bytes = around.inner * SizeOf(x.dtype());
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(y.mutable_raw());
  for (int64_t i = 0; i < around.outer; ++i, from += around.length * bytes) {
    for (const int32_t index : taps.index) {
      std::memcpy(to, from + std::max(index, 0) * bytes, static_cast<size_t>(bytes));
      to += bytes;
    }
  }
  return y;
}

// Resizes one axis of a tensor of doubles.
std::vector<double> Filtered(const std::vector<double>& x, const AxisView& around, int64_t outputs,
                             const ResizeTaps& taps) {
  std::vector<double> y(static_cast<size_t>(around.outer * outputs * around.inner), 0.0);
  double* to = y.data();
  for (int64_t i = 0; i < around.outer; ++i) {
    const double* const from = x.data() + i * around.length * around.inner;
    for (int64_t o = 0; o < outputs; ++o, to += around.inner) {
      for (int64_t t = 0; t < taps.taps; ++t) {
        const auto at = static_cast<size_t>(t * outputs + o);
        const double* const row = from + std::max(taps.index[at], 0) * around.inner;
        for (int64_t k = 0; k < around.inner; ++k) to[k] += taps.weight[at] * row[k];
      }
    }
  }
  return y;
}

void Extrapolate(const ResizeAxis& axis, const ResizeTaps& taps, double value, HostTensor& y) {
  const AxisView around = AroundAxis(y.shape(), axis.axis);
  for (int64_t i = 0; i < around.outer; ++i) {
    for (int64_t o = 0; o < around.length; ++o) {
      if (taps.index[static_cast<size_t>(o)] >= 0) continue;
      const int64_t begin = (i * around.length + o) * around.inner;
      for (int64_t k = begin; k < begin + around.inner; ++k) y.Set(k, value);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> Resize::Infer(absl::Span<const InputInfo> inputs) const {
  if (inputs.empty()) return CheckInputCount(inputs, 2);
  const TensorType& x = inputs[0].type;
  if (param().mode != ResizeMode::kNearest) ASHLAR_RETURN_IF_ERROR(CheckFloat("input", x));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(param(), inputs));
  const Shape shape = Resized(x.shape, axes);
  ASHLAR_RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", x, shape));
  if (IsQuantized(x.dtype) && param().coordinates == ResizeCoordinates::kTfCropAndResize) {
    return absl::InvalidArgumentError(
        absl::StrCat("input is ", x.ToString(), ", and elements outside of it are no integers"));
  }
  return std::vector<TensorType>{x.Reshaped(shape)};
}

absl::StatusOr<std::vector<HostTensor>> Resize::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          ResizeAxesOf(param(), InfosOf(inputs)));
  std::vector<ResizeTaps> taps;
  for (const ResizeAxis& axis : axes) taps.push_back(TapsOf(param(), axis));
  HostTensor y = x;
  if (param().mode == ResizeMode::kNearest) {
    for (size_t i = 0; i < axes.size(); ++i) y = Repeat(y, axes[i], taps[i]);
  } else {
    std::vector<double> values(static_cast<size_t>(x.num_elements()));
    for (int64_t i = 0; i < x.num_elements(); ++i) values[static_cast<size_t>(i)] = x.At(i);
    Shape shape = x.shape();
    for (size_t i = 0; i < axes.size(); ++i) {
      values = Filtered(values, AroundAxis(shape, axes[i].axis), axes[i].output, taps[i]);
      shape[axes[i].axis] = axes[i].output;
    }
    y = HostTensor::Zeros(x.dtype(), shape);
    for (int64_t i = 0; i < y.num_elements(); ++i) y.Set(i, values[static_cast<size_t>(i)]);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (Extrapolates(taps[i], axes[i].output)) {
      Extrapolate(axes[i], taps[i], param().extrapolation, y);
    }
  }
  return std::vector<HostTensor>{std::move(y)};
}

}  // namespace ashlar

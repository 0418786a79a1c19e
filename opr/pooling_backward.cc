#include "opr/pooling_backward.h"

#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/saturating_product.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(PoolingBackward)

namespace {

// Returns the position of a window's first maximum in its plane.
int64_t FirstMaximum(const double* plane, int64_t width, const InsideTaps& rows,
                     const InsideTaps& columns) {
  int64_t first = rows.begin * width + columns.begin;
  for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
      const double value = plane[y * width + x], largest = plane[first];
      if (value > largest || (value != value && largest == largest)) first = y * width + x;
    }
  }
  return first;
}

}  // namespace

absl::StatusOr<PoolingGeometry> InferPoolingBackward(const PoolingParam& param,
                                                     const TensorType& src,
                                                     const TensorType& diff) {
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param, src));
  ASHLAR_RETURN_IF_ERROR(CheckDiff(diff, src.dtype, geometry.output(), "the pooling's"));
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> PoolingBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& src = inputs[kSrc].type;
  ASHLAR_RETURN_IF_ERROR(InferPoolingBackward(param(), src, inputs[kDiff].type).status());
  return std::vector<TensorType>{{src.dtype, src.shape}};
}

absl::StatusOr<std::vector<HostTensor>> PoolingBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& src = inputs[kSrc];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g,
                          InferPooling(param(), {src.dtype(), src.shape()}));
  const bool maxima = param().mode == PoolingMode::kMax;
  const std::vector<double> diff = ToDoubles(inputs[kDiff]);
  const std::vector<double> image = maxima ? ToDoubles(src) : std::vector<double>();
  std::vector<double> sums(static_cast<size_t>(src.num_elements()));
  for (size_t i = 0; i < diff.size(); ++i) {
    const int64_t pixels = g.h.output * g.w.output, at = static_cast<int64_t>(i);
    const int64_t plane = at / pixels * g.h.input * g.w.input;
    const InsideTaps rows = g.h.Inside(at % pixels / g.w.output);
    const InsideTaps columns = g.w.Inside(at % g.w.output);
    if (maxima) {
      sums[plane + FirstMaximum(&image[plane], g.w.input, rows, columns)] += diff[i];
      continue;
    }
    const bool whole = param().mode == PoolingMode::kAverage;
    const double divisor =
        whole ? static_cast<double>(g.h.window) * static_cast<double>(g.w.window)
              : static_cast<double>(rows.count()) * static_cast<double>(columns.count());
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
        sums[plane + y * g.w.input + x] += diff[i] / divisor;
      }
    }
  }
  return std::vector<HostTensor>{FromDoubles(src.dtype(), src.shape(), sums)};
}

int64_t PoolingBackward::Computation(const Site& site) const {
  return SaturatingProduct(
      {site.inputs[kDiff].type.shape.num_elements(), param().window_h, param().window_w});
}

}  // namespace ashlar

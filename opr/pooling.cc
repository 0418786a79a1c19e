#include "opr/pooling.h"

#include <algorithm>

#include "graph/graph_builder.h"
#include "opr/base/doubles.h"
#include "opr/base/saturating_product.h"
#include "opr/pooling_rows.h"
#include "opr/quantized_pooling.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(PoolingForward)

namespace {

double Pool(PoolingMode mode, const double* plane, int64_t width, const InsideTaps& rows,
            const InsideTaps& columns, double window_elements) {
  double largest = plane[rows.begin * width + columns.begin];
  double sum = 0;
  for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
      const double value = plane[y * width + x];
      sum += value;
      largest = value > largest || value != value ? value : largest;  // propagates NaN
    }
  }
  if (mode == PoolingMode::kMax) return largest;
  const double inside = static_cast<double>(rows.count()) * static_cast<double>(columns.count());
  return sum / (mode == PoolingMode::kAverage ? window_elements : inside);
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> PoolingForward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_ASSIGN_OR_RETURN(PoolingGeometry geometry, InferPooling(param(), inputs[0].type));
  if (IsQuantized(inputs[0].type.dtype)) return InferQuantizedPooling(param(), geometry, inputs[0]);
  if (!param().output.absent()) return absl::InvalidArgumentError("scale is for quantised images");
  return std::vector<TensorType>{{inputs[0].type.dtype, geometry.output()}};
}

absl::StatusOr<std::vector<HostTensor>> PoolingForward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(PoolingGeometry geometry,
                          InferPooling(param(), {inputs[0].dtype(), inputs[0].shape()}));
  if (IsQuantized(inputs[0].dtype())) return EvaluateQuantizedPooling(param(), geometry, inputs[0]);
  const WindowAxis& h = geometry.h;
  const WindowAxis& w = geometry.w;
  const double window_elements = static_cast<double>(h.window) * static_cast<double>(w.window);
  const std::vector<double> image = ToDoubles(inputs[0]);
  std::vector<double> output;
  ForEachWindow(
      geometry, [&](int64_t, int64_t plane, const InsideTaps& rows, const InsideTaps& columns) {
        output.push_back(
            Pool(param().mode, image.data() + plane, w.input, rows, columns, window_elements));
      });
  return std::vector<HostTensor>{FromDoubles(inputs[0].dtype(), geometry.output(), output)};
}

int64_t PoolingForward::Computation(const Site& site) const {
  return SaturatingProduct(
      {site.outputs[0].shape.num_elements(), param().window_h, param().window_w});
}

// A maximum moves bytes. Means of whole images are sums of integers; other windows are summed as
// floats. If padding counts, there is no 8-bit operator.
QuantizationRule PoolingForward::quantization_rule(const Site& site) const {
  const absl::StatusOr<PoolingGeometry> geometry = InferPooling(param(), site.inputs[0].type);
  const bool counts = param().mode == PoolingMode::kAverage && geometry.ok() &&
                      (geometry->h.padded() || geometry->w.padded());
  return param().mode == PoolingMode::kMax || counts || !geometry.ok() ? QuantizationRule::kFloats
                                                                       : QuantizationRule::kFollows;
}

// Supports windows that are the whole image.
std::optional<Replacement> PoolingForward::JoinRows(const Range& rows, const Site& site) const {
  const TensorType& src = site.inputs[0].type;
  const absl::StatusOr<PoolingGeometry> geometry = InferPooling(param(), src);
  if (!geometry.ok() || (src.dtype != DType::kFloat32 && !IsQuantized(src.dtype)) ||
      !geometry->h.is_whole() || !geometry->w.is_whole()) {
    return std::nullopt;
  }
  PoolingRowsParam joined{.mode = param().mode};
  if (rows.end == geometry->h.input) {
    joined.rows = geometry->h.input;
    joined.output = param().output;
  }
  return JoinedRows(joined, rows.begin);
}

absl::StatusOr<WindowAxes> PoolingForward::WindowsOf(absl::Span<const InputInfo> inputs) const {
  return InferPooling(param(), inputs[0].type);
}

}  // namespace ashlar

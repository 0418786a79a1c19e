#include "opr/pooling_index.h"

#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/saturating_product.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(PoolingIndex)
ASHLAR_MAKE_FROM_PARAMS(PoolingIndexBackward)

namespace {

constexpr int64_t kMostTaps = 256;

absl::Status CheckParam(const PoolingParam& param) {
  if (HasPoolingIndex(param)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the window is ", param.window_h, "x",
                                                 param.window_w, ", expected maxima of at most ",
                                                 kMostTaps, " elements"));
}

}  // namespace

bool HasPoolingIndex(const PoolingParam& param) {
  return param.mode == PoolingMode::kMax && param.window_h > 0 && param.window_w > 0 &&
         param.window_h <= kMostTaps && param.window_w <= kMostTaps / param.window_h;
}

absl::StatusOr<std::vector<TensorType>> PoolingIndex::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  ASHLAR_RETURN_IF_ERROR(CheckParam(param()));
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry, InferPooling(param(), inputs[0].type));
  return std::vector<TensorType>{{DType::kUint8, geometry.output()}};
}

absl::StatusOr<std::vector<HostTensor>> PoolingIndex::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& src = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g,
                          InferPooling(param(), {src.dtype(), src.shape()}));
  const std::vector<double> image = ToDoubles(src);
  HostTensor index = HostTensor::Zeros(DType::kUint8, g.output());
  ForEachWindow(
      g, [&](int64_t window, int64_t plane, const InsideTaps& rows, const InsideTaps& columns) {
        int tap = 0, first = 0;
        double largest = 0;
        for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
          for (int64_t x = columns.begin; x < columns.end; x += columns.step, ++tap) {
            const double value = image[plane + y * g.w.input + x];
            if (tap > 0 && (value <= largest || largest != largest)) continue;
            largest = value;
            first = tap;
          }
        }
        index.Set(window, first);
      });
  return std::vector<HostTensor>{std::move(index)};
}

int64_t PoolingIndex::Computation(const Site& site) const {
  return SaturatingProduct(
      {site.outputs[0].shape.num_elements(), param().window_h, param().window_w});
}

absl::StatusOr<std::vector<TensorType>> PoolingIndexBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  ASHLAR_RETURN_IF_ERROR(CheckParam(param()));
  const TensorType& src = inputs[kSrc].type;
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry geometry,
                          InferPoolingBackward(param(), src, inputs[kDiff].type));
  ASHLAR_RETURN_IF_ERROR(
      CheckType("index", inputs[kIndex].type, {DType::kUint8, geometry.output()}));
  return std::vector<TensorType>{{src.dtype, src.shape}};
}

absl::StatusOr<std::vector<HostTensor>> PoolingIndexBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& src = inputs[kSrc];
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g,
                          InferPooling(param(), {src.dtype(), src.shape()}));
  std::vector<double> sums(static_cast<size_t>(src.num_elements()));
  ForEachWindow(
      g, [&](int64_t window, int64_t plane, const InsideTaps& rows, const InsideTaps& columns) {
        const auto tap = static_cast<int64_t>(inputs[kIndex].At(window));
        if (tap >= rows.count() * columns.count()) return;
        const int64_t y = rows.begin + tap / columns.count() * rows.step;
        const int64_t x = columns.begin + tap % columns.count() * columns.step;
        sums[plane + y * g.w.input + x] += inputs[kDiff].At(window);
      });
  return std::vector<HostTensor>{FromDoubles(src.dtype(), src.shape(), sums)};
}

int64_t PoolingIndexBackward::Computation(const Site& site) const {
  return SaturatingProduct(
      {site.inputs[kDiff].type.shape.num_elements(), param().window_h, param().window_w});
}

}  // namespace ashlar

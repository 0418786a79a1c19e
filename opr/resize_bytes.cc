#include "opr/resize_bytes.h"

#include <cmath>

#include "graph/status.h"
#include "opr/base/checks.h"
#include "opr/base/host_value.h"
#include "opr/resize_axis.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ResizeBytes)

namespace {

absl::Status CheckParam(const ResizeParam& param) {
  const bool known = param.coordinates == ResizeCoordinates::kHalfPixel ||
                     param.coordinates == ResizeCoordinates::kAlignCorners ||
                     param.coordinates == ResizeCoordinates::kAsymmetric;
  if (param.mode == ResizeMode::kLinear && param.axes == std::vector<int64_t>{2, 3} && known &&
      !param.antialias && !param.exclude_outside) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "bytes are resized LINEAR along axes 2 and 3, in coordinates HALF_PIXEL, ALIGN_CORNERS or "
      "ASYMMETRIC, without antialias and exclude_outside");
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> ResizeBytes::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckParam(param()));
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& x = inputs[0].type;
  ASHLAR_RETURN_IF_ERROR(CheckBytesImage("input", x));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(param(), inputs));
  const Shape shape = {x.shape[0], x.shape[1], axes[0].output, axes[1].output};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(shape.dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", x, shape));
  return std::vector<TensorType>{x.Reshaped(shape)};
}

absl::StatusOr<std::vector<HostTensor>> ResizeBytes::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          ResizeAxesOf(param(), InfosOf(inputs)));
  const ResizeTaps h = TapsOf(param(), axes[0]), w = TapsOf(param(), axes[1]);
  const Shape& from = x.shape();
  HostTensor y = HostTensor::ZerosLike(x, {from[0], from[1], axes[0].output, axes[1].output});
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t column = i % axes[1].output, row = i / axes[1].output % axes[0].output;
    const int64_t plane = i / axes[1].output / axes[0].output;
    double sum = 0;  // exact: bytes times weights of 11 bits
    for (size_t a = static_cast<size_t>(row); a < h.index.size(); a += axes[0].output) {
      for (size_t b = static_cast<size_t>(column); b < w.index.size(); b += axes[1].output) {
        const int64_t at = (plane * from[2] + h.index[a]) * from[3] + w.index[b];
        sum += h.weight[a] * w.weight[b] * x.At(at);
      }
    }
    y.Set(i, std::floor(sum + 0.5));
  }
  return std::vector<HostTensor>{std::move(y)};
}

}  // namespace ashlar

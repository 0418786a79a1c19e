#include "opr/quantized_pooling.h"

namespace ashlar {
namespace {

// The number of elements whose sum fits 32 bits.
constexpr int64_t kMostElements = int64_t{1} << 23;

}  // namespace

absl::StatusOr<std::vector<TensorType>> InferQuantizedPooling(const PoolingParam& param,
                                                              const PoolingGeometry& geometry,
                                                              const InputInfo& src) {
  if (param.mode == PoolingMode::kMax) {
    if (param.output.absent()) {
      return std::vector<TensorType>{src.type.Reshaped(geometry.output())};
    }
    return absl::InvalidArgumentError("scale is of means: MAX keeps the input's type");
  }
  if (param.mode == PoolingMode::kAverage && (geometry.h.padded() || geometry.w.padded())) {
    return absl::InvalidArgumentError("AVERAGE of a quantised image has no padding");
  }
  if (geometry.h.window > kMostElements / geometry.w.window) {
    return absl::InvalidArgumentError(absl::StrCat("window of ", geometry.h.window, " x ",
                                                   geometry.w.window, ", at most ", kMostElements,
                                                   " elements of a quantised image"));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, QuantizedType(param.output, geometry.output()));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> EvaluateQuantizedPooling(const PoolingParam& param,
                                                                 const PoolingGeometry& geometry,
                                                                 const HostTensor& src) {
  const InputInfo info = {{src.dtype(), src.shape(), Format::kDefault, src.quantization()}};
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                          InferQuantizedPooling(param, geometry, info));
  const TensorType& type = types[0];
  HostTensor output = HostTensor::Zeros(type);
  const PooledTypes pooled(param, src.quantization(), type);
  ForEachWindow(geometry, [&](int64_t window, int64_t plane, const InsideTaps& rows,
                              const InsideTaps& columns) {
    const auto element = [&](int64_t y, int64_t x) {
      return static_cast<int32_t>(src.At(plane + y * geometry.w.input + x));
    };
    output.Set(window, PooledWindow(pooled, rows, columns, element));
  });
  return std::vector<HostTensor>{std::move(output)};
}

}  // namespace ashlar

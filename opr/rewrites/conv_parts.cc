#include "opr/rewrites/conv_parts.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/stored_tensor.h"
#include "opr/base/operands.h"
#include "opr/conv_bias.h"

namespace ashlar {

ConvBiasParam Unfinished(ConvBiasParam param) {
  param.nonlineMode = ScalarFunction::kIdentity;
  param.parameters = {};
  param.output = {};
  return param;
}

HostTensor NoBias(const Site& site) {
  if (IsQuantized(site.outputs[0].dtype)) {
    return HostTensor::Zeros(site.inputs[ConvBiasInputs::kBias].type);
  }
  return HostTensor::Zeros(site.outputs[0].dtype, {1, site.outputs[0].shape[1], 1, 1});
}

std::optional<Replacement> JoinRowsOf(const ConvBiasParam& param, const Range& rows,
                                      const Site& site) {
  const TensorType& src = site.inputs[ConvBiasInputs::kSrc].type;
  const HostTensor* const filter = site.inputs[ConvBiasInputs::kFilter].value;
  const auto geometry = InferConvolution(param, src, site.inputs[ConvBiasInputs::kFilter].type);
  if (!geometry.ok() || !geometry->h.is_whole() || !geometry->w.is_whole() || filter == nullptr ||
      site.inputs.size() > ConvBiasInputs::kZ || param.clamps_src() ||
      param.mode != ConvolutionMode::kCrossCorrelation ||
      (src.dtype != DType::kFloat32 && !IsQuantized(src.dtype)) ||
      (IsQuantized(src.dtype) && geometry->groups > 1)) {
    return std::nullopt;
  }
  const bool is_last = rows.end == geometry->h.input;
  Replacement joined{std::make_shared<const ConvBiasForward>(is_last ? param : Unfinished(param)),
                     {FromProducer(ConvBiasInputs::kSrc)}};
  const int axis = filter->shape().rank() - 2;
  HostTensor part = SliceOf(*filter, axis, rows.begin, rows.size());
  joined.operands.push_back(ConstantOperand(part.As(filter->dtype(), filter->quantization())));
  const bool has_bias = rows.begin == 0 && site.inputs.size() > ConvBiasInputs::kBias;
  joined.operands.push_back(has_bias ? FromProducer(ConvBiasInputs::kBias)
                                     : ConstantOperand(NoBias(site)));
  if (rows.begin > 0) joined.operands.push_back(FromBefore());
  return joined;
}

HostTensor FilterOfMatrix(const HostTensor& matrix, bool transposed) {
  const int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  if (transposed) return matrix.Reshaped({rows, columns, 1, 1});
  const Shape shape = {columns, rows, 1, 1};
  const auto transpose = [=](const HostTensor& source) {
    HostTensor filter = HostTensor::Zeros(DType::kFloat32, shape);
    const absl::Span<const float> from = source.data<float>();
    const absl::Span<float> to = filter.mutable_data<float>();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        to[static_cast<size_t>(c * rows + r)] = from[static_cast<size_t>(r * columns + c)];
      }
    }
    return filter;
  };
  return HostTensor::Deferred(matrix, transpose).Reshaped(shape);
}

HostTensor FilterOfImage(const HostTensor& filter, const Shape& image,
                         absl::Span<const int64_t> axes) {
  const Shape shape = {filter.shape()[0], image[1], image[2], image[3]};
  if (axes.empty() || !filter.has_data()) return filter.Reshaped(shape);
  const int64_t size = SizeOf(filter.dtype());
  // Element strides of the image's axes in the order of the filter's elements.
  std::array<int64_t, 4> strides = {};
  int64_t step = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[static_cast<size_t>(axes[i])] = step;
    step *= image[static_cast<int>(axes[i])];
  }
  const auto move = [=](const HostTensor& source) {
    HostTensor moved = HostTensor::ZerosLike(source, shape);
    const auto* const from = static_cast<const char*>(source.raw());
    auto* to = static_cast<char*>(moved.mutable_raw());
    for (int64_t k = 0; k < shape[0]; ++k) {
      for (int64_t c = 0; c < shape[1]; ++c) {
        for (int64_t y = 0; y < shape[2]; ++y) {
          for (int64_t x = 0; x < shape[3]; ++x, to += size) {
            const int64_t at = k * step + c * strides[1] + y * strides[2] + x * strides[3];
            std::memcpy(to, from + at * size, static_cast<size_t>(size));
          }
        }
      }
    }
    return moved;
  };
  return HostTensor::Deferred(filter, move)
      .Reshaped(shape)
      .As(filter.dtype(), filter.quantization());
}

}  // namespace ashlar

// PoolingForward of quantised images.
#ifndef ASHLAR_OPR_QUANTIZED_POOLING_H_
#define ASHLAR_OPR_QUANTIZED_POOLING_H_

#include <vector>

#include "opr/pooling_param.h"

namespace ashlar {

// MAX compares integers; the output has the input's type. AVERAGE, for windows without padding, is
// the exact sum of (x - zero point), times fl(scale of x / fl(scale of y * elements)), like
// GlobalAveragePool. AVERAGE_COUNT_EXCLUDE_PADDING adds the Float32 values in order and divides the
// sum, like AveragePool. The parameters give the type of means.
absl::StatusOr<std::vector<TensorType>> InferQuantizedPooling(const PoolingParam& param,
                                                              const PoolingGeometry& geometry,
                                                              const InputInfo& src);
absl::StatusOr<std::vector<HostTensor>> EvaluateQuantizedPooling(const PoolingParam& param,
                                                                 const PoolingGeometry& geometry,
                                                                 const HostTensor& src);

// The numbers of both types that a window needs.
struct PooledTypes {
  PooledTypes(const PoolingParam& param, const Quantization& src, const TensorType& output)
      : mode(param.mode),
        src_zero_point(src.zero_point()),
        src_scale(src.scale()),
        scale(output.quantization.scale()),
        factor(src_scale / (scale * static_cast<float>(param.window_h * param.window_w))),
        zero_point(output.quantization.zero_point()),
        least(LeastOf(output.dtype)),
        most(MostOf(output.dtype)) {}

  // Returns the mean of a window by the sum of its integers, or of its `count` values.
  int32_t ExactMean(int32_t sum) const { return Round(static_cast<float>(sum) * factor); }
  int32_t Mean(float sum, float count) const { return Round(sum / count / scale); }
  int32_t Round(float steps) const { return Quantize(steps, zero_point, least, most); }

  PoolingMode mode;
  int32_t src_zero_point;
  float src_scale, scale, factor;
  int32_t zero_point, least, most;
};

// Computes one window of one channel: rows and columns as in WindowAxis::Inside; `element(y, x)` is
// an integer.
template <typename Element>
int32_t PooledWindow(const PooledTypes& types, const InsideTaps& rows, const InsideTaps& columns,
                     const Element& element) {
  int32_t largest = types.least;
  int32_t sum = 0;
  float values = 0;
  for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
    for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
      const int32_t integer = element(y, x);
      largest = integer > largest ? integer : largest;
      sum += integer - types.src_zero_point;
      const float value = static_cast<float>(integer - types.src_zero_point) * types.src_scale;
      values = values + value;
    }
  }
  if (types.mode == PoolingMode::kMax) return largest;
  if (types.mode == PoolingMode::kAverage) return types.ExactMean(sum);
  return types.Mean(values, static_cast<float>(rows.count() * columns.count()));
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_QUANTIZED_POOLING_H_

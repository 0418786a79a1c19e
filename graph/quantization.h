// How the integers of a quantised tensor represent real numbers: real = (integer - zero point) *
// scale. Terms are MegEngine's and ONNX's; scales per channel are for weights.
#ifndef ASHLAR_GRAPH_QUANTIZATION_H_
#define ASHLAR_GRAPH_QUANTIZATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/dtype.h"

namespace ashlar {

// The smallest and largest integers of an 8-bit quantised dtype.
inline int32_t LeastOf(DType dtype) { return dtype == DType::kQuantizedS8 ? -128 : 0; }
inline int32_t MostOf(DType dtype) { return LeastOf(dtype) + 255; }

// A quantisation, immutable and shared. If there are several scales, each belongs to an equal share
// of the elements in row-major order. Weights have one scale per channel this way: channels are
// their outermost dimensions.
class Quantization {
 public:
  Quantization() = default;  // of a dtype without quantisation

  // InvalidArgument unless the dtype is quantised and there is at least one scale. All scales must
  // be positive and finite, and the zero point an integer of the dtype (0 for QuantizedS32).
  static absl::StatusOr<Quantization> Make(DType dtype, std::vector<float> scales,
                                           int32_t zero_point = 0);

  bool empty() const { return scales_ == nullptr; }
  absl::Span<const float> scales() const;
  float scale() const { return scales()[0]; }
  int32_t zero_point() const { return zero_point_; }

  // "(0.0371,121)"; several scales: "(0.1..0.5,0)"
  std::string ToString() const;

  friend bool operator==(const Quantization& a, const Quantization& b);

 private:
  std::shared_ptr<const std::vector<float>> scales_;
  int32_t zero_point_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_QUANTIZATION_H_

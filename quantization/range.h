// Chooses, by a histogram of values, the range of a tensor that 8 bits represent.
#ifndef ASHLAR_QUANTIZATION_RANGE_H_
#define ASHLAR_QUANTIZATION_RANGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/quantization_rules.h"
#include "graph/shape.h"

namespace ashlar {

// The method of choosing a range: all values (minmax), all but a share of them (percentile), the
// least mean square error (mse), or the least loss of information (entropy).
enum class RangeMethod { kMinMax, kPercentile, kMse, kEntropy };
inline constexpr const char* kRangeMethodNames[] = {"minmax", "percentile", "mse", "entropy"};
absl::StatusOr<RangeMethod> ParseRangeMethod(absl::string_view name);

// A histogram of values in equal bins between two bounds. Zeros are not counted, because every
// range includes zero.
class Histogram {
 public:
  static constexpr int kBins = 2048;

  Histogram() = default;
  Histogram(double least, double most);
  void Add(absl::Span<const float> values);

  double least() const { return least_; }
  double most() const { return most_; }
  const std::vector<int64_t>& counts() const { return counts_; }  // empty: all values are zero
  int64_t zeros() const { return zeros_; }
  int64_t total() const;
  double CentreOf(size_t bin) const {
    return least_ + (static_cast<double>(bin) + 0.5) * (most_ - least_) / kBins;
  }

 private:
  double least_ = 0, most_ = 0;
  std::vector<int64_t> counts_;
  int64_t zeros_ = 0;
};

// Chooses a range. `percentile` is for kPercentile: 99.99 leaves out a ten-thousandth, half of it
// at each end that is not zero.
ValueRange ChooseRange(const Histogram& histogram, RangeMethod method, double percentile);

// Returns the share of values outside a range, estimated by a histogram.
double ClippedShare(const Histogram& histogram, const ValueRange& range);

// Returns the Quantized8Asymm type for this range extended to zero; any type for zero alone.
absl::StatusOr<TensorType> TypeOfRange(const ValueRange& range, const Shape& shape);
// Returns the range of real numbers that an 8-bit type represents.
ValueRange RangeOfType(const TensorType& type);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_RANGE_H_

// Measures the error of 8-bit values against float values.
#ifndef ASHLAR_QUANTIZATION_NOISE_H_
#define ASHLAR_QUANTIZATION_NOISE_H_

#include <cstdint>
#include <optional>

#include "graph/tensor.h"
#include "quantization/calibration.h"

namespace ashlar {

// Sums of squares over pairs of tensors; the second tensor of a pair may be quantised.
class Noise {
 public:
  void Add(const HostTensor& expected, const HostTensor& value);
  // Returns 10 log10(signal / noise), at most kMostDecibels, which is returned for equal values.
  static constexpr double kMostDecibels = 200;
  double sqnr_db() const;

 private:
  double signal_ = 0, noise_ = 0;
};

// The quality of the first output; its rows are the rows of the batch.
struct QuantizedOutputs {
  int64_t rows = 0;
  double sqnr_db = 0;
  std::optional<double> agreement;  // the share of rows whose largest element has the same index
  std::optional<double> accuracy_before, accuracy_after;  // only if there are labels
};

// The error of a model's outputs, accumulated batch by batch.
class OutputNoise {
 public:
  void Add(const HostTensor& before, const HostTensor& after, const CalibrationRun& run);
  QuantizedOutputs Result() const;

 private:
  Noise noise_;
  int64_t rows_ = 0, agreeing_ = 0, ranked_ = 0;
  int64_t labelled_ = 0, right_before_ = 0, right_after_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_NOISE_H_

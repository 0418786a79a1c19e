#include "quantization/noise.h"

#include <algorithm>
#include <cmath>

namespace ashlar {
namespace {

// Returns the position of the largest element of a row, the first of equal ones.
int64_t LargestOf(const HostTensor& tensor, int64_t row, int64_t elements) {
  int64_t largest = 0;
  for (int64_t i = 1; i < elements; ++i) {
    if (tensor.At(row * elements + i) > tensor.At(row * elements + largest)) largest = i;
  }
  return largest;
}

}  // namespace

void Noise::Add(const HostTensor& expected, const HostTensor& value) {
  if (expected.shape() != value.shape()) return;
  const bool quantised = IsQuantized(value.dtype());
  const double scale = quantised ? value.quantization().scale() : 1;
  const double zero_point = quantised ? value.quantization().zero_point() : 0;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const double wanted = expected.At(i);
    const double difference = (value.At(i) - zero_point) * scale - wanted;
    signal_ += wanted * wanted;
    noise_ += difference * difference;
  }
}

double Noise::sqnr_db() const {
  if (noise_ == 0) return kMostDecibels;
  if (signal_ == 0) return -kMostDecibels;
  return std::clamp(10 * std::log10(signal_ / noise_), -kMostDecibels, kMostDecibels);
}

void OutputNoise::Add(const HostTensor& before, const HostTensor& after,
                      const CalibrationRun& run) {
  noise_.Add(before, after);
  rows_ += run.rows;
  const int64_t batch = before.shape().rank() > 0 ? before.shape()[0] : 0;
  if (batch < run.rows || before.num_elements() < 2 * batch) return;
  const int64_t elements = before.num_elements() / batch;
  for (int64_t row = 0; row < run.rows; ++row) {
    const int64_t was = LargestOf(before, row, elements), is = LargestOf(after, row, elements);
    ++ranked_;
    agreeing_ += was == is;
    if (row >= static_cast<int64_t>(run.labels.size())) continue;
    ++labelled_;
    right_before_ += was == run.labels[static_cast<size_t>(row)];
    right_after_ += is == run.labels[static_cast<size_t>(row)];
  }
}

QuantizedOutputs OutputNoise::Result() const {
  const auto share = [](int64_t part, int64_t whole) -> std::optional<double> {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  return {rows_, noise_.sqnr_db(), share(agreeing_, ranked_), share(right_before_, labelled_),
          share(right_after_, labelled_)};
}

}  // namespace ashlar

#include "runtime/measure/median_interval.h"

#include <algorithm>

namespace ashlar {
namespace {

constexpr double kConfidence = 0.95;

double MedianOfSorted(const std::vector<double>& samples) {
  const size_t n = samples.size();
  return n == 0 ? 0 : (samples[(n - 1) / 2] + samples[n / 2]) / 2;
}

}  // namespace

std::optional<MedianInterval> MedianIntervalOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t n = samples.size();
  // `outside`: the probability that fewer than k samples are below the median.
  double probability = 1, outside = 0;
  for (size_t i = 0; i < n; ++i) probability /= 2;
  size_t most = 0;
  for (size_t k = 1; 2 * k <= n; ++k) {
    outside += probability;
    if (1 - 2 * outside < kConfidence) break;
    most = k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  if (most == 0) return std::nullopt;
  return MedianInterval{MedianOfSorted(samples), samples[most - 1], samples[n - most]};
}

double MedianOf(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return MedianOfSorted(samples);
}

}  // namespace ashlar

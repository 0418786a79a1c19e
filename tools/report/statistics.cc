#include "tools/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ashlar {

double Percentile(absl::Span<const double> sorted, double p) {
  const double rank = p / 100 * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

Summary Summarize(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const double sum = std::accumulate(sample.begin(), sample.end(), 0.0);
  return {.min = sample.front(),
          .median = Percentile(sample, 50),
          .mean = sum / static_cast<double>(sample.size()),
          .p90 = Percentile(sample, 90),
          .p99 = Percentile(sample, 99),
          .max = sample.back()};
}

}  // namespace ashlar

// Statistics of a sample of durations.
#ifndef ASHLAR_TOOLS_REPORT_STATISTICS_H_
#define ASHLAR_TOOLS_REPORT_STATISTICS_H_

#include <vector>

#include "absl/types/span.h"

namespace ashlar {

// Returns the p-th percentile, 0 <= p <= 100, linear between the closest ranks. `sorted` is
// ascending and not empty.
double Percentile(absl::Span<const double> sorted, double p);

struct Summary {
  double min = 0, median = 0, mean = 0, p90 = 0, p99 = 0, max = 0;
};

// Summarizes `sample`, in any order, not empty.
Summary Summarize(std::vector<double> sample);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_STATISTICS_H_

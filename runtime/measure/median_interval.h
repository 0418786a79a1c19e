// The median of measurements, with a confidence interval.
#ifndef ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_
#define ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_

#include <optional>
#include <vector>

namespace ashlar {

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

// Returns the narrowest interval between the k-th smallest and the k-th largest sample that
// contains the median with a probability of at least 0.95. It holds for any distribution: the
// probability equals the one with which a binomial variable of n trials at 1/2 lies from k to n - k
// (W. J. Conover, Practical Nonparametric Statistics, 3.2). Returns nothing for fewer than six
// samples, for which no interval reaches 0.95.
std::optional<MedianInterval> MedianIntervalOf(std::vector<double> samples);

// Returns the middle sample, or the mean of the two middle ones; 0 if there are none.
double MedianOf(std::vector<double> samples);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_

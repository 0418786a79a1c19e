// The median of measurements, and how sure it is.
#ifndef ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_
#define ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_

#include <optional>
#include <vector>

namespace ashlar {

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

// The narrowest interval between the k-th smallest and the k-th largest sample which holds the
// median of their distribution, whatever it is, with a probability of at least 0.95: that a
// binomial variable of n trials at 1/2 lies from k to n - k (W. J. Conover, Practical Nonparametric
// Statistics, 3.2). None for fewer than six samples, of which no interval is so sure.
std::optional<MedianInterval> MedianIntervalOf(std::vector<double> samples);

// The middle one, or the mean of both; 0 of none.
double MedianOf(std::vector<double> samples);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_MEDIAN_INTERVAL_H_

// Seeded random numbers that are the same on every machine and with every compiler: SplitMix64
// (Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators").
#ifndef ASHLAR_GRAPH_RANDOM_H_
#define ASHLAR_GRAPH_RANDOM_H_

#include <cstdint>

namespace ashlar {

// Uses integer arithmetic and one rounding, so the result does not depend on a mathematics library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Returns a number in [low, high).
  double Uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(Next() >> 11) * 0x1p-53);
  }

  // Returns an approximately normal number with mean 0 and variance 1: the sum of four uniform
  // 16-bit numbers.
  double Normal() {
    const uint64_t bits = Next();
    const int64_t sum = static_cast<int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) +
                                             ((bits >> 32) & 0xffff) + (bits >> 48));
    constexpr double kMean = 2.0 * 65535;
    constexpr double kInverseDeviation = 1.0 / 37837.22723720648;  // sqrt(4 * (65536^2 - 1) / 12)
    return (static_cast<double>(sum) - kMean) * kInverseDeviation;
  }

 private:
  uint64_t state_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RANDOM_H_

// Generates random buffers with lifetimes like a network's, to measure planners on many buffers.
#ifndef ASHLAR_BENCHMARKS_SYNTHETIC_BUFFERS_H_
#define ASHLAR_BENCHMARKS_SYNTHETIC_BUFFERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "memory/problem/buffer.h"

namespace ashlar::benchmarks {

// Returns buffers like a large training step's. 90 % live 1 to 60 steps, 9.5 % up to 5000, 0.5 % up
// to 200,000; births are spread evenly over `count` steps. Sizes are multiples of 256 bytes, with
// log-normal(4, 2) factors. About 780 are live at a time. The same on every machine: only the
// generator's bits come from the standard library.
inline memory::Problem SyntheticBuffers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(uniform() * static_cast<double>(high - low + 1));
  };
  memory::Problem problem;
  problem.buffers.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    memory::Buffer b;
    b.id = i;
    b.lower = between(0, count - 1);
    const double kind = uniform();
    b.upper = b.lower + (kind < 0.9     ? between(1, 60)
                         : kind < 0.995 ? between(60, 5000)
                                        : between(5000, 200000));
    // Box-Muller transform.
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
    b.size = 256 * std::max<int64_t>(1, static_cast<int64_t>(std::exp(4 + 2 * normal)));
    problem.buffers.push_back(b);
  }
  return problem;
}

}  // namespace ashlar::benchmarks

#endif  // ASHLAR_BENCHMARKS_SYNTHETIC_BUFFERS_H_

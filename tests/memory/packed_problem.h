#ifndef ASHLAR_TESTS_MEMORY_PACKED_PROBLEM_H_
#define ASHLAR_TESTS_MEMORY_PACKED_PROBLEM_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "memory/problem/buffer.h"

namespace ashlar::memory::testing {

struct Packing {
  int buffers = 400;
  int64_t steps = 2000;
  int64_t bytes = int64_t{1} << 16;
  int time_cuts = 80;  // Per cent of cuts that are between steps, not between addresses.
  int dropped = 0;     // Per cent of buffers left out.
  int fixed = 0;       // Per cent of buffers kept at their address.
  int related = 0;  // Per cent of the possible containments in a buffer that dies or begins then.
  bool alignments = false;
};

// Returns a full arena, steps x bytes, cut into buffers. If nothing is dropped, a plan of `bytes`
// exists that leaves no byte free at any step.
inline Problem PackedProblem(uint32_t seed, const Packing& packing) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  struct Cut {
    int64_t lower, upper, bottom, top;
    double area() const { return static_cast<double>(upper - lower) * (top - bottom); }
  };
  std::vector<Cut> cuts = {{0, packing.steps, 0, packing.bytes}};
  while (static_cast<int>(cuts.size()) < packing.buffers) {
    const auto pick = [&] { return draw(static_cast<int64_t>(cuts.size())); };
    int64_t largest = pick();
    for (int i = 0; i < 3; ++i) {
      if (const int64_t other = pick(); cuts[other].area() > cuts[largest].area()) largest = other;
    }
    Cut rest = cuts[largest];
    const bool in_time = draw(100) < packing.time_cuts;
    const int64_t extent = in_time ? rest.upper - rest.lower : rest.top - rest.bottom;
    if (extent < 2) continue;
    const int64_t at = 1 + draw(extent - 1);
    (in_time ? rest.lower : rest.bottom) += at;
    (in_time ? cuts[largest].upper : cuts[largest].top) = in_time ? rest.lower : rest.bottom;
    cuts.push_back(rest);
  }
  std::shuffle(cuts.begin(), cuts.end(), random);
  Problem problem;
  std::vector<Cut> kept;
  for (const Cut& cut : cuts) {
    if (draw(100) < packing.dropped) continue;
    Buffer b{.id = static_cast<int64_t>(kept.size()),
             .lower = cut.lower,
             .upper = cut.upper,
             .size = cut.top - cut.bottom};
    if (packing.alignments) {
      const int64_t largest = cut.bottom == 0 ? 4096 : cut.bottom & -cut.bottom;
      b.alignment = std::min(largest, int64_t{1} << draw(9));
    }
    if (draw(100) < packing.fixed) b.offset = cut.bottom;
    problem.buffers.push_back(b);
    kept.push_back(cut);
  }
  std::vector<bool> taken(kept.size(), false);
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t j = 0; j < kept.size(); ++j) {
      const Cut& inner = kept[i];
      const Cut& outer = kept[j];
      const bool follow = inner.lower == outer.upper || inner.upper == outer.lower;
      if (i == j || taken[i] || taken[j] || !follow) continue;
      if (inner.bottom < outer.bottom || inner.top > outer.top) continue;
      if (draw(100) >= packing.related) continue;
      taken[i] = taken[j] = true;
      problem.inside.push_back(
          {static_cast<int>(i), static_cast<int>(j), inner.bottom - outer.bottom});
    }
  }
  return problem;
}

}  // namespace ashlar::memory::testing

#endif  // ASHLAR_TESTS_MEMORY_PACKED_PROBLEM_H_

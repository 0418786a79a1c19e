// Random graphs of shapes that make scheduling hard.
#ifndef ASHLAR_TESTS_RUNTIME_SCHEDULE_RANDOM_GRAPHS_H_
#define ASHLAR_TESTS_RUNTIME_SCHEDULE_RANDOM_GRAPHS_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/runtime/schedule/graph_of_bytes.h"

namespace ashlar::testing {

inline constexpr int64_t kFloat = 4;  // bytes

// Returns operators that each read one to three of the latest `window` vars.
inline TestCase WideCase(uint32_t seed, int num_compute, size_t window) {
  std::mt19937 random(seed);
  TestGraph g;
  std::vector<int> vars = {g.Input(1)};
  for (int i = 0; i < num_compute; ++i) {
    std::vector<int> inputs;
    for (int k = 1 + static_cast<int>(random() % 3); k > 0; --k) {
      inputs.push_back(vars[vars.size() - 1 - random() % std::min(vars.size(), window)]);
    }
    vars.push_back(g.Compute(1 + static_cast<int64_t>(random() % 1000), inputs));
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    if (g.graph().readers(vars[i]).empty()) g.Output(vars[i]);
  }
  return std::move(g).Build();
}

// Returns modules of four parallel branches (1x1; 1x1, 3x3; 1x1, 5x5; pooling, 1x1) that are
// concatenated.
inline TestCase Inception(bool second_head) {
  TestGraph g;
  const int64_t modules[][7] = {
      // side, 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection
      {28, 64, 96, 128, 16, 32, 32},     {28, 128, 128, 192, 32, 96, 64},
      {14, 192, 96, 208, 16, 48, 64},    {14, 160, 112, 224, 24, 64, 64},
      {14, 128, 128, 256, 24, 64, 64},   {14, 112, 144, 288, 32, 64, 64},
      {14, 256, 160, 320, 32, 128, 128}, {7, 256, 160, 320, 32, 128, 128},
      {7, 384, 192, 384, 48, 128, 128},
  };
  int x = g.Compute(192 * 28 * 28 * kFloat, {g.Input(3 * 224 * 224 * kFloat)});
  int64_t side = 28;
  for (const auto& m : modules) {
    if (m[0] != side) {
      x = g.Compute(g.Bytes(x) * m[0] * m[0] / (side * side), {x});
      side = m[0];
    }
    const auto conv = [&](int64_t channels, int input) {
      return g.InPlace({g.Compute(channels * side * side * kFloat, {input}, 4096)});
    };
    const int pooled = g.Compute(g.Bytes(x), {x});
    x = g.Concat(
        {conv(m[1], x), conv(m[3], conv(m[2], x)), conv(m[5], conv(m[4], x)), conv(m[6], pooled)});
    if (second_head && &m == &modules[2]) g.Output(g.Compute(4000, {g.Compute(20'000, {x})}));
  }
  g.Output(g.Compute(4000, {x}));
  return std::move(g).Build();
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_SCHEDULE_RANDOM_GRAPHS_H_

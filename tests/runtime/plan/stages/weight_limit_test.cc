// Compares kernels chosen within a limit of weights with all possible choices.
#include "runtime/plan/stages/weight_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "opr/convolution.h"
#include "runtime/schedule/storage.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar {
namespace {

class PackingKernel final : public testing::FakeKernel {
 public:
  PackingKernel(int64_t bytes, double time) : FakeKernel(time, 0), bytes_(bytes) {}
  std::optional<Packing> packing(int input) const override {
    if (input != 1) return std::nullopt;  // the filter
    return Packing{std::to_string(bytes_), bytes_};
  }
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t bytes_;
};

int64_t BytesOf(const std::shared_ptr<const Kernel>& kernel) {
  return static_cast<const PackingKernel&>(*kernel).bytes();
}

// Convolutions in a row, each with up to four kernels; larger ones are faster.
struct Problem {
  explicit Problem(uint64_t seed) {
    std::mt19937_64 random(seed);
    testing::GraphMaker make;
    int x = make.Input("x", {1, 4, 6, 6});
    const int convolutions = 1 + static_cast<int>(random() % 5);
    for (int i = 0; i < convolutions; ++i) {
      x = make.Add<ConvolutionForward>(
          {}, {x, make.Constant(testing::RandomTensor(random, {4, 4, 1, 1}))});
    }
    make.Output(x);
    graph = std::move(make).Build();
    model = BuildStorageModel(graph, {});
    candidates.resize(graph.nodes().size());
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph.node(static_cast<int>(i)).op->type() != ConvolutionForward::kType) continue;
      double time = 0.5;
      int64_t bytes = 64 * (4 + static_cast<int64_t>(random() % 8));
      for (int k = 1 + static_cast<int>(random() % 4); k > 0 && bytes > 0; --k) {
        candidates[i].push_back(std::make_shared<const PackingKernel>(bytes, time));
        time += 0.1 * static_cast<double>(1 + random() % 5);
        bytes -= 64 * (1 + static_cast<int64_t>(random() % 3));
      }
    }
  }

  Graph graph;
  StorageModel model;
  KernelCandidates candidates;
  ProcessorSpeed speed;
};

// Returns the bytes of the first candidates, which are the chosen ones.
int64_t Bytes(const KernelCandidates& candidates) {
  int64_t bytes = 0;
  for (const auto& of_node : candidates) bytes += of_node.empty() ? 0 : BytesOf(of_node[0]);
  return bytes;
}

double Time(const Problem& problem, const KernelCandidates& candidates) {
  std::vector<std::shared_ptr<const Kernel>> chosen;
  for (const auto& of_node : candidates) {
    chosen.push_back(of_node.empty() ? nullptr : of_node[0]);
  }
  return EstimateTime(problem.graph, problem.model, problem.speed, chosen);
}

int64_t LeastBytes(const KernelCandidates& candidates) {
  int64_t bytes = 0;
  for (const auto& of_node : candidates) bytes += of_node.empty() ? 0 : BytesOf(of_node.back());
  return bytes;
}

TEST(WeightLimit, KeepsTheLimitWhereItCanAndGivesUpNoMoreThanItMust) {
  int limited = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "Problem(" << seed << ")");
    const Problem problem(seed);
    const int64_t least = LeastBytes(problem.candidates), all = Bytes(problem.candidates);
    double slower = std::numeric_limits<double>::infinity();
    for (int64_t most = least - 64; most <= all; most += 64) {
      KernelCandidates candidates = problem.candidates;
      LimitWeights(problem.graph, problem.model, problem.speed, {.all = most}, candidates);
      EXPECT_LE(Bytes(candidates), std::max(most, least)) << most;
      for (size_t i = 0; i < candidates.size(); ++i) {
        EXPECT_EQ(candidates[i].empty(), problem.candidates[i].empty());
      }
      const double ms = Time(problem, candidates);
      EXPECT_LE(ms, slower + 1e-12) << "more memory is never slower; " << most;
      slower = ms;
      limited += Bytes(candidates) < all;
    }
    KernelCandidates candidates = problem.candidates;
    LimitWeights(problem.graph, problem.model, problem.speed, {.all = all}, candidates);
    EXPECT_EQ(candidates, problem.candidates);
  }
  EXPECT_GT(limited, 100);
}

// Strips read all weights of their operators again and again; what follows reads its own once.
TEST(WeightLimit, WeightsOfStripsAreNeededAtOnceAndOthersKeepTheirs) {
  constexpr int kStripped = 3, kStrips = 4, kAfter = 2;
  constexpr int64_t kFast = 1024, kSmall = 256;
  std::mt19937_64 random(1);
  testing::GraphMaker make;
  int x = make.Input("x", {1, 4, 6, 6});
  std::vector<int> filters;
  for (int i = 0; i < kStripped + kAfter; ++i) {
    filters.push_back(make.Constant(testing::RandomTensor(random, {4, 4, 1, 1})));
  }
  for (int i = 0; i < kStripped * kStrips; ++i) {
    x = make.Add<ConvolutionForward>({}, {x, filters[i % kStripped]});
  }
  for (int i = 0; i < kAfter; ++i) {
    x = make.Add<ConvolutionForward>({}, {x, filters[kStripped + i]});
  }
  make.Output(x);
  const Graph graph = std::move(make).Build();
  const StorageModel model = BuildStorageModel(graph, {});
  KernelCandidates all(graph.nodes().size());
  std::vector<int> convolutions;
  for (size_t i = 0; i < all.size(); ++i) {
    if (graph.node(static_cast<int>(i)).op->type() != ConvolutionForward::kType) continue;
    convolutions.push_back(static_cast<int>(i));
    all[i] = {std::make_shared<const PackingKernel>(kFast, 0.5),
              std::make_shared<const PackingKernel>(kSmall, 1)};
  }
  for (const int64_t limit : {3 * kFast, 3 * kFast - 1, kFast + 2 * kSmall, kFast, kSmall}) {
    KernelCandidates candidates = all;
    LimitWeights(graph, model, {}, {.at_once = limit}, candidates);
    int64_t strips = 0;
    for (size_t i = 0; i < convolutions.size(); ++i) {
      const int64_t bytes = BytesOf(candidates[convolutions[i]][0]);
      EXPECT_EQ(bytes,
                BytesOf(candidates[convolutions[i < kStripped * kStrips ? i % kStripped : i]][0]));
      if (i < kStripped) strips += bytes;
      if (i >= kStripped * kStrips) {
        EXPECT_EQ(bytes, limit < kFast ? kSmall : kFast) << limit;
      }
    }
    EXPECT_LE(strips, std::max(limit, kStripped * kSmall)) << limit;
    EXPECT_GT(strips + kFast - kSmall, std::min(limit, kStripped * kFast - 1))
        << "no more than it must";
  }
}

}  // namespace
}  // namespace ashlar

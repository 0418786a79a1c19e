// Pools of weights, compared with lists of the constants and layouts that kernels read.
#include "runtime/plan/stages/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "opr/convolution.h"
#include "runtime/plan/stages/shared_pool.h"
#include "runtime/schedule/storage.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar {
namespace {

constexpr int64_t kPoolAlignment = 64;

// Reads the filter row-major (no key), or packed with some bytes at its end.
class LayoutKernel final : public testing::FakeKernel {
 public:
  LayoutKernel(std::string key, int64_t bytes)
      : FakeKernel(1, 0), key_(std::move(key)), bytes_(bytes) {}
  std::optional<Packing> packing(int input) const override {
    if (input != 1 || key_.empty()) return std::nullopt;
    return Packing{key_, bytes_};
  }
  const std::string& key() const { return key_; }

 private:
  const std::string key_;
  const int64_t bytes_;
};

// A chain of convolutions with few filters, so that several read the same one.
struct Chain {
  explicit Chain(uint64_t seed, uint64_t seed_of_values = 0) {
    std::mt19937_64 random(seed), values(seed_of_values);
    testing::GraphMaker make;
    int x = make.Input("x", {1, 3, 4, 4});
    std::vector<int> filters;
    for (int i = 0; i < 3; ++i) {
      filters.push_back(make.Constant(testing::RandomTensor(values, {3, 3, 1 + 2 * (i % 2), 1})));
    }
    for (int i = 0; i < 6; ++i) {
      const int filter = static_cast<int>(random() % filters.size());
      ConvolutionParam param;
      param.pad_h = filter % 2;
      x = make.Add<ConvolutionForward>(std::move(param), {x, filters[filter]});
    }
    make.Output(x);
    graph = std::move(make).Build();
    model = BuildStorageModel(graph, {});
    kernels.resize(graph.nodes().size());
    for (const OperatorNode& node : graph.nodes()) {
      if (node.op->type() != ConvolutionForward::kType) continue;
      const char* const keys[] = {"", "a", "b"};
      const std::string key = keys[random() % 3];
      const int64_t bytes = graph.var(node.inputs[1]).type.bytes() + (key == "b" ? 20 : 0);
      kernels[&node - graph.nodes().data()] = std::make_shared<const LayoutKernel>(key, bytes);
    }
    plan = PlanWeights(graph, model, kernels, kPoolAlignment);
  }

  Graph graph;
  StorageModel model;
  std::vector<std::shared_ptr<const Kernel>> kernels;
  WeightsPlan plan;
};

// Expects entries, of all plans of a pool, to lie apart and aligned, and the pool to end after the
// last.
void ExpectApart(std::vector<const WeightEntry*> entries, int64_t bytes) {
  std::sort(entries.begin(), entries.end(),
            [](const WeightEntry* a, const WeightEntry* b) { return a->offset < b->offset; });
  int64_t end = 0;
  for (const WeightEntry* entry : entries) {
    EXPECT_EQ(entry->offset % kPoolAlignment, 0);
    EXPECT_GE(entry->offset, end);
    end = entry->offset + entry->bytes;
  }
  EXPECT_EQ(end, bytes);
}

TEST(WeightsTest, EachConstantIsOnceInEachLayoutThatIsRead) {
  int shared = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Chain chain(seed);
    std::vector<std::pair<int, std::string>> read;  // in the order of first readers
    int readers = 0;
    for (size_t n = 0; n < chain.kernels.size(); ++n) {
      if (chain.kernels[n] == nullptr) continue;
      const int filter = chain.graph.node(static_cast<int>(n)).inputs[1];
      const std::pair entry(filter, static_cast<const LayoutKernel&>(*chain.kernels[n]).key());
      if (std::count(read.begin(), read.end(), entry) == 0) read.push_back(entry);
      const int index = chain.plan.by_input[n][1];
      ASSERT_LT(index, static_cast<int>(chain.plan.entries.size()));
      EXPECT_EQ(std::pair(chain.plan.entries[index].var, chain.plan.entries[index].key), entry);
      EXPECT_EQ(chain.plan.by_input[n][0], -1) << "no constant";
      ++readers;
    }
    ASSERT_EQ(chain.plan.entries.size(), read.size());
    std::vector<const WeightEntry*> entries;
    for (size_t i = 0; i < chain.plan.entries.size(); ++i) {
      const WeightEntry& entry = chain.plan.entries[i];
      EXPECT_EQ(std::pair(entry.var, entry.key), read[i]);
      EXPECT_EQ(entry.bytes, chain.graph.var(entry.var).type.bytes() + (entry.key == "b" ? 20 : 0));
      EXPECT_EQ(entry.packer == nullptr, entry.key.empty());
      entries.push_back(&entry);
    }
    ExpectApart(std::move(entries), chain.plan.bytes);
    shared += readers - static_cast<int>(read.size());
  }
  EXPECT_GT(shared, 20);
}

TEST(WeightsTest, LargeEntriesArePackedFirst) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Chain chain(seed);
    const std::vector<int> order = PackingOrder(chain.plan);
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), chain.plan.entries.size());
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](int a, int b) {
      return chain.plan.entries[a].bytes > chain.plan.entries[b].bytes;
    }));
    // The pool and the constants that are not packed yet; never more than both.
    int64_t constants = 0, packed = 0;
    std::set<int> seen;
    for (const WeightEntry& entry : chain.plan.entries) {
      packed += entry.bytes;
      if (!seen.insert(entry.var).second) continue;
      constants += chain.graph.var(entry.var).type.bytes();
    }
    const int64_t peak = PackingPeak(chain.graph, chain.plan);
    EXPECT_GE(peak, packed);
    EXPECT_LE(peak, constants + packed);
  }
}

// Plans for several shapes have constants of their own, most of them equal.
TEST(SharedPoolTest, EqualBytesInEqualLayoutsLieInOnePlace) {
  size_t shared = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Chain a(seed), b(seed + 1), other(seed, /*seed_of_values=*/1);
    std::vector<WeightsUser> users;
    for (Chain* const chain : {&a, &b, &other}) users.push_back({&chain->graph, &chain->plan});
    ShareWeights(users, kPoolAlignment);
    std::vector<std::pair<const Chain*, const WeightEntry*>> all;
    for (const Chain* const chain : {&a, &b, &other}) {
      EXPECT_EQ(chain->plan.bytes, a.plan.bytes);
      for (const WeightEntry& entry : chain->plan.entries) all.push_back({chain, &entry});
    }
    std::vector<const WeightEntry*> first;
    for (size_t i = 0; i < all.size(); ++i) {
      const Chain* const chain = all[i].first;
      const WeightEntry* const entry = all[i].second;
      const std::vector<double> mine = testing::Values(ValueOf(chain->graph, *entry));
      const auto same = std::find_if(all.begin(), all.begin() + i, [&](const auto& before) {
        return before.second->key == entry->key &&
               before.first->graph.var(before.second->var).type ==
                   chain->graph.var(entry->var).type &&
               testing::Values(ValueOf(before.first->graph, *before.second)) == mine;
      });
      const bool is_new = same == all.begin() + i;
      EXPECT_EQ(entry->elsewhere, !is_new);
      if (is_new) first.push_back(entry);
      if (!is_new) {
        EXPECT_EQ(entry->offset, same->second->offset);
      }
    }
    shared += all.size() - first.size();
    ExpectApart(std::move(first), a.plan.bytes);
  }
  EXPECT_GT(shared, 100u);
}

}  // namespace
}  // namespace ashlar

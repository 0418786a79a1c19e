// Live bytes of orders with recomputation, compared with the simulator of the built graphs.
#include "training/live_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/recompute.h"
#include "graph/state.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage.h"
#include "tests/support/tensors.h"
#include "tests/training/small_net.h"
#include "training/recompute.h"
#include "training/training_graph.h"

namespace ashlar::testing {
namespace {

// Returns a net of random layers, each of which reads any earlier ones.
Graph RandomNet(std::mt19937_64& random) {
  Net net;
  std::vector<int> vars = {net.Relu(net.Convolution(net.Input("x", {2, 3, 8, 8}), 4, 3))};
  std::vector<int> unread = vars;
  const auto any = [&] {
    const int var = vars[random() % vars.size()];
    std::erase(unread, var);
    return var;
  };
  const auto sum = [&](int a, int b) {
    return net.GraphMaker::Add<Elemwise>({ScalarFunction::kAdd}, {a, b});
  };
  for (size_t layers = 3 + random() % 8; layers > 0; --layers) {
    const auto layer = [&] {
      switch (random() % 6) {
        case 0:
          return net.Relu(net.Norm(net.Convolution(any(), 4, 3)));
        case 1:
          return net.Convolution(net.Clamp(net.Convolution(any(), 16, 1)), 4, 1);
        case 2:
          return net.Norm(net.Depthwise(any()));
        case 3:
          return net.Relu(any());
        case 4:
          return net.Norm(any());
        default:
          return sum(any(), any());
      }
    };
    vars.push_back(layer());
    unread.push_back(vars.back());
  }
  int last = unread[0];
  for (size_t i = 1; i < unread.size(); ++i) last = sum(last, unread[i]);
  return std::move(net).Classes(last);
}

// Keeps half of the vars; recomputes the others once, twice, or for each reader. Keeps all vars
// that only the backward pass reads: recomputed, their own nodes would be dead.
MadeAgain RandomChoice(const Graph& graph, int loss, std::mt19937_64& random) {
  constexpr uint8_t kTimes[] = {kKept, kKept, kKept, kOnce, 2, kAnew};
  const std::vector<bool> towards = NodesTowards(graph, loss);
  MadeAgain again;
  for (size_t v = 0; v < graph.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    const std::vector<int>& readers = graph.readers(var);
    const bool forward =
        std::any_of(readers.begin(), readers.end(), [&](int reader) { return towards[reader]; });
    again.push_back(forward && CanMakeAgain(graph, var) ? kTimes[random() % 6] : kKept);
  }
  return again;
}

// Returns the bytes of each step that runs and changes no state, as ArenaSimulator counts them. As
// in LiveBytes, updates of states read nothing, and the loss lies in the arena.
std::vector<int64_t> SimulatedBytes(const Graph& graph, const OrderMaker& maker) {
  StorageModel model = BuildStorageModel(graph, {});
  for (Storage& storage : model.storages) {
    std::erase_if(storage.readers, [&](int reader) {
      return maker.IsUpdate(reader) || graph.node(reader).op->role() != Role::kCompute;
    });
    if (storage.pool == Pool::kOutput) storage.pool = Pool::kArena;
  }
  const std::vector<int64_t> workspace(graph.nodes().size(), 0);
  ArenaSimulator arena(graph, model, workspace);
  std::vector<int64_t> bytes;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const int node = static_cast<int>(n);
    if (!model.scheduled[n] || graph.node(node).op->role() != Role::kCompute) continue;
    if (!maker.IsUpdate(node)) bytes.push_back(arena.Run(node));
  }
  return bytes;
}

class LiveBytesTest : public ::testing::TestWithParam<int> {};

TEST_P(LiveBytesTest, AreThoseOfTheSimulatorInEachStep) {
  cpu::RegisterDevice();
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const Graph step = Value(MakeTrainingGraph(RandomNet(random), {})).step;
  const Graph graph = Value(NormsInHalves(step));
  const int loss = graph.outputs()[0].var;
  OrderMaker maker(graph, loss);
  LiveBytes live(graph, maker);
  const std::vector<bool> scheduled = ScheduledNodes(graph);
  for (int choice = 0; choice < 8; ++choice) {
    const MadeAgain again = RandomChoice(graph, loss, random);
    for (const int reach : {0, 4, 1 << 20}) {
      const OrderWithCopies& order = maker.Make(again, reach);
      const std::vector<int64_t>& at = live.Of(order);
      ASSERT_EQ(at.size(), order.placed.size());
      std::vector<int64_t> bytes;
      for (size_t p = 0; p < at.size(); ++p) {
        const int node = order.placed[p].node;
        if (!scheduled[static_cast<size_t>(node)] || maker.IsUpdate(node)) continue;
        if (graph.node(node).op->role() == Role::kCompute) bytes.push_back(at[p]);
      }
      const Graph made = Value(Recompute(graph, loss, again, reach));
      EXPECT_EQ(bytes, SimulatedBytes(made, OrderMaker(made, made.outputs()[0].var)))
          << "choice " << choice << ", reach " << reach;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, LiveBytesTest, ::testing::Range(0, 20));

}  // namespace
}  // namespace ashlar::testing

// Pools of states: one place for each state that a scheduled node reads or updates.
#include "runtime/plan/stages/state_pool.h"

#include <gtest/gtest.h>

#include "opr/elemwise.h"
#include "opr/table.h"
#include "opr/update.h"
#include "runtime/schedule/storage.h"
#include "tests/support/graph_maker.h"

namespace ashlar {
namespace {

TEST(StatePoolTest, StatesInUseLieOneAfterTheOther) {
  testing::GraphMaker make;
  const int x = make.Input("x", {5});
  const auto state = [&](const char* name) {
    return make.Add(Operators().MakeState(HostTensor::Zeros(DType::kFloat32, {5})), {}, name);
  };
  const int read = state("read"), updated = state("updated"), unused = state("unused");
  make.Output(make.Add<Elemwise>({ScalarFunction::kAdd}, {x, read}));
  make.Add<AddUpdate>({1, 1, 0}, {updated, x}, "update");
  const Graph graph = std::move(make).Build();
  const StatePool pool = PlanStates(graph, BuildStorageModel(graph, {}), /*alignment=*/16);

  ASSERT_EQ(pool.entries.size(), 2u);
  EXPECT_EQ(pool.entries[0].name, "read");
  EXPECT_EQ(pool.entries[0].offset, 0);
  EXPECT_EQ(pool.entries[1].name, "updated");
  EXPECT_EQ(pool.entries[1].offset, 32) << "20 bytes, rounded up to a multiple of 16";
  EXPECT_EQ(pool.bytes, 52);
  for (const StateEntry& entry : pool.entries) {
    EXPECT_EQ(entry.type, graph.var(entry.var).type);
    EXPECT_EQ(pool.Find(entry.name), &entry);
    EXPECT_EQ(pool.Of(entry.var), &entry);
  }
  EXPECT_EQ(pool.Find("unused"), nullptr);
  EXPECT_EQ(pool.Of(unused), nullptr);
}

}  // namespace
}  // namespace ashlar

// The choice of tiles by `tune`, with kernels that sleep for times that depend on the size of their
// output.
#include "runtime/measure/tune_tiles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "opr/elemwise.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "tests/runtime/fake_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kImage = 64 * 4;  // bytes

// Three operators on four images.
Graph ThreeOperators() {
  GraphMaker make;
  int var = make.Input("data", {4, 64});
  for (int i = 0; i < 3; ++i) var = make.Add<Elemwise>({ScalarFunction::kExp}, {var});
  make.Output(var);
  return std::move(make).Build();
}

PlanRequest RequestOnFake() {
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  request.planning.passes = "none";
  return request;
}

// Installs kernels that take so many milliseconds for one image, two and four.
void InstallSized(int one, int two, int four) {
  FakeDevice::Install({{.name = "sized", .sized = [=](int64_t bytes) {
                          const int64_t images = bytes / kImage;
                          std::this_thread::sleep_for(std::chrono::milliseconds(images == 1 ? one
                                                                                : images == 2
                                                                                    ? two
                                                                                    : four));
                        }}});
}

TunedTiles Tuned(const Graph& network, KernelRecord& record) {
  return Value(TuneTiles(network, RequestOnFake(), {.seconds = 2, .confirming_pairs = 6}, record));
}

// Three operators and their tuned tiles, with kernels that take so many milliseconds.
struct TunedOperators {
  TunedOperators(int one, int two, int four) {
    InstallSized(one, two, four);
    tuned = Tuned(network, record);
  }
  const Graph network = ThreeOperators();
  KernelRecord record;
  TunedTiles tuned;
};

TEST(TuneTiles, TheFasterPartsOfTheBatchGoOnRecord) {
  const auto& [network, record, tuned] = TunedOperators(3, 12, 48);
  ASSERT_TRUE(tuned.ratio.has_value());
  EXPECT_LT(tuned.ratio->high, 1);
  ASSERT_EQ(tuned.chosen.segments.size(), 1u) << tuned.chosen.ToString();
  EXPECT_EQ(tuned.chosen.segments[0].kind, TileKind::kBatch);
  EXPECT_EQ(tuned.chosen.segments[0].count, 4);
  const PlanRequest request = RequestOnFake();
  const std::string key = TilesKey(network, request.target, request.planning);
  EXPECT_EQ(record.tiles.at(key).at(1), tuned.chosen);

  // Plans use the tuned tiles only on request, and not instead of requested ones.
  PlanRequest with = RequestOnFake();
  with.planning.record = std::make_shared<const KernelRecord>(record);
  EXPECT_TRUE(Value(PlanGraph(Graph(network), with))->tiles.empty());
  with.target.tuned_tiles = true;
  const auto planned = Value(PlanGraph(Graph(network), with));
  EXPECT_EQ(planned->tiles, tuned.chosen);
  EXPECT_TRUE(planned->tiles_on_record);
  EXPECT_TRUE(planned->request.target.tuned_tiles && planned->request.target.tiles.empty());
  with.target.tiles = Value(TileSpec::Parse(
      absl::StrCat(tuned.chosen.segments[0].from, "-", tuned.chosen.segments[0].to, ":batch2")));
  const auto other = Value(PlanGraph(Graph(network), with));
  EXPECT_EQ(other->tiles, with.target.tiles);
  EXPECT_FALSE(other->tiles_on_record);
  PlanRequest threads = RequestOnFake();
  threads.planning.record = with.planning.record;
  threads.target.threads = 2;
  threads.target.tuned_tiles = true;
  EXPECT_TRUE(Value(PlanGraph(Graph(network), threads))->tiles.empty());
}

TEST(TuneTiles, WhatIsSlowerInPartsStaysWhole) {
  const auto& [network, record, tuned] = TunedOperators(6, 8, 9);
  EXPECT_FALSE(tuned.trials.empty());
  EXPECT_TRUE(tuned.chosen.empty()) << tuned.chosen.ToString();
  EXPECT_FALSE(tuned.ratio.has_value());
  const PlanRequest request = RequestOnFake();
  EXPECT_TRUE(record.tiles.at(TilesKey(network, request.target, request.planning)).at(1).empty());
}

// Ranges of operators have tile counts of their own. In the first half one image at a time is
// faster; tiles make the second half slower.
TEST(TuneTiles, RangesHaveTheirOwnNumbersOfParts) {
  GraphMaker make;
  int var = make.Input("data", {4, 64});
  for (int i = 0; i < 2; ++i) var = make.Add<Elemwise>({ScalarFunction::kExp}, {var});
  for (int i = 0; i < 2; ++i) var = make.Add<Elemwise>({ScalarFunction::kNegate}, {var});
  make.Output(var);
  const Graph network = std::move(make).Build();
  static std::string at;  // must outlive the device's kernels
  FakeDevice::Install({{.name = "sized",
                        .during = [](const std::string& name) { at = name; },
                        .sized =
                            [](int64_t bytes) {
                              const int64_t images = bytes / kImage;
                              const int64_t ms = at == "EXP" ? (images == 1 ? 2 : 12 * images)
                                                             : (images == 4 ? 4 : 12);
                              std::this_thread::sleep_for(std::chrono::milliseconds(ms));
                            }}});
  KernelRecord record;
  const TunedTiles tuned = Tuned(network, record);
  ASSERT_EQ(tuned.chosen.segments.size(), 1u) << tuned.chosen.ToString();
  EXPECT_EQ(tuned.chosen.segments[0].count, 4);
  EXPECT_EQ(network.node(2).id, tuned.chosen.segments[0].to) << tuned.chosen.ToString();
}

// A record may name tiles that the graph does not have, without an error.
TEST(TuneTiles, TilesThatAGraphDoesNotHaveAreLeftOut) {
  InstallSized(0, 0, 0);
  const Graph network = ThreeOperators();
  PlanRequest request = RequestOnFake();
  KernelRecord record;
  record.tiles[TilesKey(network, request.target, request.planning)][1] =
      Value(TileSpec::Parse("700-800:batch2"));
  request.planning.record = std::make_shared<const KernelRecord>(std::move(record));
  request.target.tuned_tiles = true;
  EXPECT_TRUE(Value(PlanGraph(Graph(network), request))->tiles.empty());
}

}  // namespace
}  // namespace ashlar::testing

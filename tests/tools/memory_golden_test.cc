// The memory of the zoo, to the byte. These are promises: a change that raises one of them is a
// regression, one that lowers it moves the number here.
#include <gtest/gtest.h>

#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/planned_graph.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

struct Golden {
  const char* model;
  ZooOptions options;
  int64_t exported;  // bytes of arena before rewrites, at most: workspaces in it grow with threads
  int64_t arena;     // bytes after them
};

const Golden kGoldens[] = {
    // 52,183,040 is the least that any order of the fused graph needs (dynamic programming over all
    // sets of executed operators); MegEngine's run of the same work used 96,421,888.
    {"resnet50", {.batch = 10}, 72253440, 52183040},
    {"resnet50", {.batch = 1}, 7225344, 5218304},
    {"resnet50", {.batch = 1, .image = 2048, .headless = true}, 603979776, 436207616},
    {"resnet18", {.batch = 1}, 6422912, 4014080},
    {"vgg19", {.batch = 1}, 25690112, 25690112},
    {"mobilenet_v2", {.batch = 1}, 6247040, 6021120},
    {"squeezenet", {.batch = 1}, 6280448, 3928576},
    {"inception_v1", {.batch = 1}, 6422912, 4816896},
};

class MemoryGoldenTest : public ::testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

TEST_P(MemoryGoldenTest, TheArenaIsThePromisedOneAndMeetsItsLowerBound) {
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(testing::Message() << golden.model << " batch " << golden.options.batch
                                    << " image " << golden.options.image);
    for (const ZooModel& model : ZooModels()) {
      if (std::string(model.name) != golden.model) continue;
      for (const char* passes : {"none", "all"}) {
        PlanningOptions options;
        options.threads = GetParam();
        options.passes = passes;
        auto planned = PlanGraph(*model.build(golden.options), options);
        ASSERT_TRUE(planned.ok()) << planned.status();
        const PlannedGraph& plan = **planned;
        if (options.passes == "none") {
          EXPECT_LE(plan.plan.plan.arena, golden.exported);
          EXPECT_GE(plan.plan.plan.arena, golden.arena);
        } else {
          EXPECT_EQ(plan.plan.plan.arena, golden.arena);
        }
        EXPECT_EQ(plan.plan.lower_bound, plan.plan.plan.arena);
        EXPECT_EQ(plan.plan.proof, memory::Proof::kOptimal);
        EXPECT_TRUE(plan.schedule.exact);
      }
    }
  }
}

TEST_P(MemoryGoldenTest, NoModelNeedsMoreThanInMegEnginesOrder) {
  for (const ZooModel& model : ZooModels()) {
    for (const char* passes : {"none", "all"}) {
      SCOPED_TRACE(testing::Message() << model.name << ", passes " << passes);
      PlanningOptions options;
      options.threads = GetParam();
      options.passes = passes;
      const auto memory = PlanGraph(*model.build({}), options);
      ASSERT_TRUE(memory.ok()) << memory.status();
      options.scheduler = "megengine";
      const auto megengine = PlanGraph(*model.build({}), options);
      ASSERT_TRUE(megengine.ok()) << megengine.status();
      EXPECT_LE((*memory)->schedule.peak_bytes, (*megengine)->schedule.peak_bytes);
      EXPECT_LE((*memory)->plan.plan.arena, (*megengine)->plan.plan.arena);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, MemoryGoldenTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace ashlar

// The memory of a training step without recomputed convolutions: at most the results of a search in
// another program, and 2 % for workspaces.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tools/zoo/zoo.h"
#include "training/training_graph.h"

namespace ashlar {
namespace {

using testing::kSanitized;
using testing::Value;

constexpr double kWorkspaces = 1.02;

struct KnownStep {
  const char* model;
  int64_t batch;
  const char* recompute;
  int64_t bytes;
};

Graph StepOf(const KnownStep& known) {
  TrainingOptions options;
  options.recompute = Value(ParseRecompute(known.recompute));
  for (const ZooModel& model : ZooModels()) {
    if (std::string(model.name) != known.model) continue;
    return Value(MakeTrainingGraph(Value(model.build({.batch = known.batch})), options)).step;
  }
  ADD_FAILURE() << known.model;
  return Graph();
}

class TrainingMemoryTest : public ::testing::TestWithParam<KnownStep> {};

// In the order of the rewritten graph, before other orders are tried, and without workspaces.
TEST_P(TrainingMemoryTest, LiveBytesAreAtMostTheKnownOnes) {
  if (kSanitized) GTEST_SKIP() << "the same as without, for longer";
  const Graph step = StepOf(GetParam());
  const StorageModel model = BuildStorageModel(step, {});
  const std::vector<int64_t> none(step.nodes().size(), 0);
  EXPECT_LE(static_cast<double>(ScheduleAsGiven(step, model, none).peak_bytes),
            kWorkspaces * static_cast<double>(GetParam().bytes));
}

// ResNet-50 in its given order takes 3 % more than the known figure; plans find other orders, with
// 370.5 MB for batch 8.
INSTANTIATE_TEST_SUITE_P(Zoo, TrainingMemoryTest,
                         ::testing::Values(KnownStep{"resnet50", 1, "cheap", 49600000},
                                           KnownStep{"resnet50", 8, "cheap", 394600000},
                                           KnownStep{"resnet50", 8, "none", 648953344},
                                           KnownStep{"mobilenet_v2", 8, "cheap", 216166912}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.model, "_", info.param.batch, "_",
                                               info.param.recompute);
                         });

TEST(TrainingMemory, PlanOfVgg19MeetsItsLowerBound) {
  if (kSanitized) GTEST_SKIP() << "the same as without, for longer";
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  const KnownStep known = {"vgg19", 8, "none", 351633408};
  const auto planned = Value(PlanGraph(StepOf(known), request));
  EXPECT_EQ(planned->plan.plan.arena, planned->plan.lower_bound);
  EXPECT_LE(static_cast<double>(planned->plan.plan.arena),
            kWorkspaces * static_cast<double>(known.bytes));
}

}  // namespace
}  // namespace ashlar

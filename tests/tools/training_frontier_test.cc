// The memory of a training step for a given share of recomputation: at most the results of a search
// in another program (../shared/data/training/frontiers.json), and 2 %.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"
#include "tests/support/environment.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tools/zoo/network_builder.h"
#include "tools/zoo/zoo.h"
#include "training/recompute_search.h"
#include "training/training_graph.h"

namespace ashlar {
namespace {

using testing::kSanitized;
using testing::kTakesLong;
using testing::LongTests;
using testing::Value;

constexpr std::array<double, 9> kExtra = {0,    0.01, 0.02, 0.05, 0.1,
                                          0.15, 0.2,  0.25, 0.4};  // fraction of a step's FLOPs

struct KnownFrontier {
  const char* model;
  int64_t batch;
  std::array<int64_t, kExtra.size()> bytes;  // 0: unknown
};

// Returns a ResNet-18 for images of 32 x 32: no pool, and a stem of 3 x 3.
Graph SmallResNet18(int64_t batch) {
  NetworkBuilder net({.batch = batch, .image = 32});
  const ConvolutionShape same = {.channels = 64, .kernel = 3, .padding = 1};
  Feature x = net.Relu("relu", net.ConvBatchNorm("conv1", "bn1", net.Input(), same));
  for (int block = 0; block < 8; ++block) {
    const int64_t channels = int64_t{64} << block / 2, stride = block > 0 && block % 2 == 0 ? 2 : 1;
    const auto name = [&](const char* layer) { return absl::StrCat("block", block, ".", layer); };
    Feature y =
        net.ConvBatchNorm(name("conv1"), name("bn1"), x,
                          {.channels = channels, .kernel = 3, .stride = stride, .padding = 1});
    y = net.ConvBatchNorm(name("conv2"), name("bn2"), net.Relu(name("relu1"), y),
                          {.channels = channels, .kernel = 3, .padding = 1});
    if (stride > 1) {
      x = net.ConvBatchNorm(name("conv3"), name("bn3"), x,
                            {.channels = channels, .stride = stride});
    }
    x = net.Relu(name("relu2"), net.Add(name("add"), y, x));
  }
  return Value(std::move(net).Finish("prob", net.Classifier("avgpool", "fc", x)));
}

Graph ModelOf(const KnownFrontier& known) {
  if (std::string(known.model) == "small_resnet18") return SmallResNet18(known.batch);
  for (const ZooModel& model : ZooModels()) {
    if (std::string(model.name) == known.model) return Value(model.build({.batch = known.batch}));
  }
  ADD_FAILURE() << known.model;
  return Graph();
}

class TrainingFrontierTest : public ::testing::TestWithParam<KnownFrontier> {};

// Returns the live bytes in the order of the rewritten graph, without workspaces.
int64_t LiveBytesOf(const Graph& step) {
  const StorageModel model = BuildStorageModel(step, {});
  return ScheduleAsGiven(step, model, std::vector<int64_t>(step.nodes().size(), 0)).peak_bytes;
}

TEST_P(TrainingFrontierTest, IsAtMostTheKnownOne) {
  if (kSanitized) GTEST_SKIP() << "the same as without, for longer";
  // It repeats the search of the smaller networks, for longer.
  if (GetParam().model == std::string("resnet50") && !LongTests()) GTEST_SKIP() << kTakesLong;
  cpu::RegisterDevice();
  constexpr double kNear = 1.02;
  const Graph step = Value(MakeTrainingGraph(ModelOf(GetParam()), {})).step;
  const std::vector<RecomputePoint> points = Value(RecomputeFrontier(step, kExtra.back()));
  const RecomputePoint* planned = nullptr;
  int64_t known = 0;
  for (size_t i = 0; i < kExtra.size(); ++i) {
    if (GetParam().bytes[i] == 0) continue;
    const RecomputePoint* best = points.data();
    for (const RecomputePoint& point : points) {
      if (point.extra_flops <= kExtra[i] && point.peak_bytes < best->peak_bytes) best = &point;
    }
    const int64_t live = LiveBytesOf(Value(RecomputeStep(step, best->spec)));
    SCOPED_TRACE(absl::StrCat(kExtra[i], " more: --recompute ", best->spec.ToString()));
    EXPECT_LE(static_cast<double>(live), kNear * static_cast<double>(GetParam().bytes[i]));
    EXPECT_EQ(live, best->peak_bytes) << "simulated without the graph";
    planned = best;
    known = GetParam().bytes[i];
  }
  // Plans the last one, with workspaces.
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  const auto plan = Value(PlanGraph(Value(RecomputeStep(step, planned->spec)), request));
  EXPECT_EQ(plan->plan.plan.arena, plan->plan.lower_bound);
  EXPECT_LE(static_cast<double>(plan->plan.plan.arena), kNear * static_cast<double>(known));
}

INSTANTIATE_TEST_SUITE_P(
    Nets, TrainingFrontierTest,
    ::testing::Values(
        KnownFrontier{"resnet50",
                      1,
                      {48891392, 39554560, 38655488, 28218880, 20921856, 18492928, 16068096,
                       14499328, 12856832}},
        KnownFrontier{"resnet50",
                      8,
                      {389643776, 322207232, 307756544, 224263680, 167034368, 147746304, 128462336,
                       115654144, 102772224}},
        KnownFrontier{"resnet50",
                      32,
                      {1557937664, 1288191488, 1230388736, 896417280, 665206272, 590900736,
                       513814016, 462470656, 411053568}},
        KnownFrontier{"vgg19", 8, {351633408, 308281344}},
        KnownFrontier{"vgg19", 1, {43954176, 38535168}},
        KnownFrontier{
            "mobilenet_v2", 8, {216166912, 184405504, 153095680, 112395648, 95537280, 89916032}},
        KnownFrontier{"small_resnet18",
                      128,
                      {352622080, 318776832, 302290432, 256153088, 210015744, 201328128}}),
    [](const auto& info) { return absl::StrCat(info.param.model, "_", info.param.batch); });

}  // namespace
}  // namespace ashlar

// Tiled graphs on a device with images in NHWC, whose kernels are compiled for the host.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/rewrite.h"
#include "tests/cases/kernel_check.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/runtime/inference.h"
#include "tests/support/environment.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

PlanRequest OnGpuWithoutSearch() {
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  request.planning.planner.limits.work = 0;
  return request;
}

class CudaTiles : public ::testing::Test {
 protected:
  EmulatedDevice& device_ = EmulatedDevice::Install();
};

// A kernel computes an element with the same sum, wherever its tile begins.
TEST_F(CudaTiles, AnyGraphInAnyTilesComputesTheSame) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    const Graph reference =
        RandomImageGraph(random, /*joins=*/seed % 2 == 1, /*max_channels=*/12, GraphKinds::kFew);
    PlanRequest request = OnGpuWithoutSearch();
    const Graph graph = std::move(
        Value(RewriteGraph(reference, request.target, request.planning, {.tiled = true})).graph);
    const TileSpec tiles = RandomTiles(random, graph);
    const HostTensor input = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << tiles.ToString());
    const Inference whole = Infer(graph, request, input);
    request.target.tiles = tiles;
    const Inference tiled = Infer(graph, request, input);
    const std::vector<HostTensor> expected = Value(Evaluate(reference, input));
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "output " << i);
      ASSERT_EQ(CountDifferences(tiled.outputs[i], whole.outputs[i]), 0);
      ASSERT_LE(RelativeError(tiled.outputs[i], expected[i]), 1e-4);
    }
  }
}

TEST_F(CudaTiles, NoRunLeavesItsPlan) {
  for (uint64_t seed = 500; seed < 520; ++seed) {
    std::mt19937_64 random(seed);
    PlanRequest request = OnGpuWithoutSearch();
    const Graph graph =
        std::move(Value(RewriteGraph(RandomImageGraph(random, true, 12, GraphKinds::kFew),
                                     request.target, request.planning, {.tiled = true}))
                      .graph);
    request.target.tiles = RandomTiles(random, graph);
    request.planning.passes = "none";
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << " tiles " << request.target.tiles.ToString());
    const Binding& binding = graph.inputs()[0];
    const InputTensors inputs = {
        {binding.name, RandomTensor(random, graph.var(binding.var).type.shape)}};
    const Measurement measured = Value(Measure(graph, request, inputs));
    EXPECT_TRUE(measured.ok);
    EXPECT_LE(measured.arena.actual_bytes, measured.arena.planned_bytes);
    EXPECT_TRUE(Value(CheckGuards(graph, request, inputs)).empty());
  }
}

bool HasImagesIn(const Graph& graph, Format format) {
  return std::any_of(graph.vars().begin(), graph.vars().end(),
                     [&](const Var& var) { return var.type.format == format; });
}

// Images that a device leaves in NCHW in untiled graphs have its own format in tiled ones. A budget
// that the untiled graph fits is met by the untiled graph.
TEST_F(CudaTiles, WholeImagesMayLieOtherwise) {
  device_.leaves_whole_images = true;
  std::mt19937_64 random(3);
  const Graph graph =
      RandomImageGraph(random, /*joins=*/true, /*max_channels=*/12, GraphKinds::kFew);
  const HostTensor input = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
  PlanRequest request = OnGpuWithoutSearch();
  const std::unique_ptr<PlannedGraph> whole = Value(PlanGraph(Graph(graph), request));
  EXPECT_FALSE(HasImagesIn(whole->graph, Format::kNHWC));
  const std::vector<HostTensor> expected = Value(Evaluate(graph, input));
  const int64_t arena = whole->plan.plan.arena;
  const auto check = [&](const PlanRequest& asked) {
    const Inference got = Infer(graph, asked, input);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(RelativeError(got.outputs[i], expected[i]), 1e-4);
    }
  };
  PlanRequest in_parts = request;
  in_parts.target.tiles = RandomTiles(
      random, Value(RewriteGraph(graph, request.target, request.planning, {.tiled = true})).graph);
  SCOPED_TRACE(in_parts.target.tiles.ToString());
  EXPECT_TRUE(HasImagesIn(Value(PlanGraph(Graph(graph), in_parts))->graph, Format::kNHWC));
  check(in_parts);
  request.target.budget = MemoryBudget{.bytes = arena};
  EXPECT_FALSE(HasImagesIn(Value(PlanGraph(Graph(graph), request))->graph, Format::kNHWC));
  check(request);
  request.target.budget->bytes = 0;  // smallest possible, in either format
  const std::unique_ptr<PlannedGraph> least = Value(PlanGraph(Graph(graph), request));
  EXPECT_LE(least->plan.plan.arena, arena);
  EXPECT_EQ(least->smallest_budget, least->plan.plan.arena);
  check(request);
  device_.leaves_whole_images = false;
}

// If a budget requires tiles, the untiled plan need not fit the device.
TEST_F(CudaTiles, ABudgetIsMetOnADeviceThatIsTooSmallForTheWhole) {
  device_.leaves_whole_images = true;
  const auto needed = [](const PlannedGraph& planned) {
    return planned.plan.plan.arena + planned.weights.bytes + planned.input_bytes() +
           planned.output_bytes();
  };
  const int wanted = LongTests() ? 3 : 1;
  int met = 0;
  for (uint64_t seed = 0; seed < 40 && met < wanted; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph graph =
        RandomImageGraph(random, /*joins=*/false, /*max_channels=*/12, GraphKinds::kFew);
    PlanRequest request = OnGpuWithoutSearch();
    const int64_t whole = needed(*Value(PlanGraph(Graph(graph), request)));
    request.target.budget = MemoryBudget{};
    const std::unique_ptr<PlannedGraph> least = Value(PlanGraph(Graph(graph), request));
    if (needed(*least) >= whole) continue;
    ++met;
    request.target.budget->bytes = least->plan.plan.arena;
    device_.capacity = device_.allocated + whole - 1;
    EXPECT_TRUE(IsOk(PlanGraph(Graph(graph), request).status()));
    request.target.budget.reset();
    EXPECT_TRUE(FailsWith(PlanGraph(Graph(graph), request).status(), "are needed"));
    device_.capacity = int64_t{1} << 40;
  }
  EXPECT_EQ(met, wanted);
  device_.leaves_whole_images = false;
}

// A library that takes only whole images gets a copy of the slice.
TEST_F(CudaTiles, ALibraryThatTakesNoPartsIsGivenCopies) {
  device_.convolution_library = [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    if (problem.is_packed()) kernels.push_back(cuda::MakeDirectConvolution(problem, 1));
    return kernels;
  };
  int gathered = 0, packed = 0;
  for (const CaseFile& file : AllCaseFiles()) {
    if (!absl::StartsWith(file.type, "Conv")) continue;
    Cases cases(GpuScope(/*emulated=*/true), 17, [&](const KernelCase& test) {
      for (const KernelOutcome& outcome : CheckKernels(device_, test)) {
        gathered += outcome.implementation == "gather+direct";
        packed += outcome.implementation == "direct";
      }
    });
    file.add(cases);
  }
  device_.convolution_library = nullptr;
  EXPECT_GE(gathered, 6);
  EXPECT_GE(packed, 20);
}

}  // namespace
}  // namespace ashlar::testing

// Graphs executed in parts on a device with images in NHWC: its kernels run as loops on the host.
#include <gtest/gtest.h>

#include "runtime/measure.h"
#include "runtime/rewrite.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/runtime/cuda/support/kernel_check.h"
#include "tests/runtime/inference.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

PlanningOptions OnGpu() {
  PlanningOptions options;
  options.comp_node = {CompNode::Type::kGpu, 0, 0};
  options.planner.limits.time = absl::ZeroDuration();
  return options;
}

class CudaTiles : public ::testing::Test {
 protected:
  EmulatedDevice& device_ = EmulatedDevice::Install();
};

// A kernel gives each element the same sum, wherever its tile begins.
TEST_F(CudaTiles, AnyGraphInAnyTilesComputesTheSame) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    const Graph reference = RandomImageGraph(random, /*joins=*/seed % 2 == 1, /*max_channels=*/12);
    PlanningOptions options = OnGpu();
    const Graph graph = std::move(Value(RewriteGraph(reference, options)).graph);
    const TileSpec tiles = RandomTiles(random, graph);
    const HostTensor input = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << tiles.ToString());
    const Inference whole = Infer(graph, options, input);
    options.tiles = tiles;
    const Inference tiled = Infer(graph, options, input);
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
    PlanningOptions options = OnGpu();
    const Graph graph =
        std::move(Value(RewriteGraph(RandomImageGraph(random, true, 12), options)).graph);
    options.tiles = RandomTiles(random, graph);
    options.passes = "none";
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " tiles " << options.tiles.ToString());
    const Binding& binding = graph.inputs()[0];
    const InputTensors inputs = {
        {binding.name, RandomTensor(random, graph.var(binding.var).type.shape)}};
    const Measurement measured = Value(Measure(graph, options, inputs));
    EXPECT_TRUE(measured.ok);
    EXPECT_LE(measured.arena.actual_bytes, measured.arena.planned_bytes);
    EXPECT_TRUE(Value(CheckGuards(graph, options, inputs)).empty());
  }
}

// Where a library takes whole images only, it is given a copy of the part that is wanted.
TEST_F(CudaTiles, ALibraryThatTakesNoPartsIsGivenCopies) {
  device_.convolution_library = [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    if (problem.is_packed()) kernels.push_back(cuda::MakeDirectConvolution(problem, 1));
    return kernels;
  };
  int gathered = 0, packed = 0;
  for (const KernelCase& test : AllCases(17)) {
    if (test.op->type() != "ConvBiasForward" && test.op->type() != "ConvolutionForward") continue;
    for (const std::string& name : CheckKernels(device_, test)) {
      gathered += name == "gather+direct";
      packed += name == "direct";
    }
  }
  device_.convolution_library = nullptr;
  EXPECT_GE(gathered, 6);
  EXPECT_GE(packed, 20);
}

}  // namespace
}  // namespace ashlar::testing

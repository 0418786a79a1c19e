// Arenas of networks with skips: splits, transposed convolutions, and images that are copied
// between blocks and row-major.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution_backward_data.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/split.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar {
namespace {

using testing::GraphMaker;
using testing::Value;

PlanRequest RequestOfAvx2() {
  cpu::RegisterDevice();
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  return request;
}

class SkipMaker : public GraphMaker {
 public:
  int Convolution(int x, int64_t channels, int64_t window) {
    ConvBiasParam param;
    param.pad_h = param.pad_w = window / 2;
    const int w =
        Constant(testing::RandomTensor(random_, {channels, var(x).type.shape[1], window, window}));
    return Add<ConvBiasForward>(param, {x, w, Constant(Zeros({1, channels, 1, 1}))});
  }
  static HostTensor Zeros(const Shape& shape) { return HostTensor::Zeros(DType::kFloat32, shape); }

 private:
  std::mt19937_64 random_{3};
};

// Regression: an operator with several outputs ended every segment. The blocks of YOLO begin with a
// Split: of a network like YOLOv8n, `min` took 1,945,600 bytes, now 1,228,800.
TEST(SkipMemory, StripsPassThroughSplits) {
  PlanRequest request = RequestOfAvx2();
  SkipMaker maker;
  const int x = maker.Convolution(maker.Input("x", {1, 8, 48, 48}), 32, 3);
  const std::vector<int> halves =
      maker.AddSeveral(std::make_shared<const Split>(SplitParam{1, {16, 16}}), {x});
  const int y = maker.Convolution(maker.Convolution(halves[1], 16, 3), 16, 3);
  maker.Output(maker.Convolution(maker.Add<Concat>({.axis = 1}, {halves[0], y}), 8, 3));
  const Graph graph = std::move(maker).Build();
  const int64_t whole = Value(PlanGraph(Graph(graph), request))->plan.plan.arena;
  request.target.budget = MemoryBudget{0, /*max_extra_flops=*/0};
  const auto planned = Value(PlanGraph(Graph(graph), request));
  EXPECT_LT(3 * planned->plan.plan.arena, whole);
  EXPECT_EQ(planned->extra_flops_ratio, 0);
}

// Regression: a strip of one row of a transposed convolution was counted as two, so `min` without
// operations done twice took 16,056,320 bytes for a U-Net of 19,267,584, now 3,695,104.
TEST(SkipMemory, StripsOfTransposedConvolutionsComputeNothingTwice) {
  PlanRequest request = RequestOfAvx2();
  SkipMaker maker;
  const int x = maker.Convolution(maker.Input("x", {1, 8, 16, 16}), 16, 3);
  ConvolutionParam doubles;
  doubles.stride_h = doubles.stride_w = 2;
  const int y = maker.Add<ConvolutionBackwardData>(
      doubles, {x, maker.Constant(SkipMaker::Zeros({16, 16, 2, 2}))}, "up");
  const int z = maker.Convolution(y, 16, 3);
  maker.Output(z);
  const Graph graph = std::move(maker).Build();
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  for (const char* const kind : {"rows32", "lines16", "rolling16"}) {
    SCOPED_TRACE(kind);
    request.target.tiles =
        Value(TileSpec::Parse(absl::StrCat(id(graph.inputs()[0].var), "-", id(y), ":", kind)));
    const bool again = std::string(kind) == "rows32";  // of the convolution before
    const auto planned = Value(PlanGraph(Graph(graph), request));
    EXPECT_EQ(planned->extra_flops_ratio > 0, again);
    double kept = 0;
    for (const OperatorNode& node : planned->graph.nodes()) {
      if (node.op->type() != ConvolutionBackwardData::kType) continue;
      kept += static_cast<double>(node.op->KeptComputation(planned->graph.SiteOf(node)));
    }
    EXPECT_EQ(kept, 16.0 * 16 * 16 * 16 * 4 * 2);
  }
}

// Regression: images without blocks were tried only if a block of channels was not full. Here
// blocks are copied, for a reader that takes elements in row-major order.
TEST(SkipMemory, RowMajorImagesAreTriedWhereBlocksAreCopied) {
  PlanRequest request = RequestOfAvx2();
  request.target.budget = MemoryBudget{0, /*max_extra_flops=*/0};
  SkipMaker maker;
  const int x = maker.Convolution(maker.Input("x", {1, 16, 32, 32}), 32, 3);
  const int target = maker.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {1, -1}));
  const int rows = maker.Add<Reshape>({}, {x, target});
  maker.Output(maker.Add<Softmax>({1}, {rows}));
  const int64_t image = maker.var(x).type.bytes();
  const auto planned = Value(PlanGraph(std::move(maker).Build(), request));
  EXPECT_LE(planned->plan.plan.arena, image);
  for (const Var& var : planned->graph.vars()) EXPECT_FALSE(IsBlocked(var.type.format)) << var.name;
}

}  // namespace
}  // namespace ashlar

// Reductions and classifiers after strips of an image: they join what has arrived, so the image
// never exists whole.
#include <gtest/gtest.h>

#include <functional>

#include "opr/conv_bias.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

class StripsMaker : public GraphMaker {
 public:
  int Random(const Shape& shape) { return Constant(RandomTensor(random_, shape)); }
  int Conv(int x, int64_t channels, int64_t window) {
    ConvBiasParam param;
    param.nonlineMode = ScalarFunction::kRelu;
    param.pad_h = param.pad_w = window / 2;
    const Shape filter = {channels, var(x).type.shape[1], window, window};
    return Add<ConvBiasForward>(param, {x, Random(filter), Random({1, channels, 1, 1})});
  }
  int Pool(int x) { return Add<PoolingForward>({}, {x}); }
  int Reshaped(int x, const std::vector<int64_t>& dims) {
    return Add<Reshape>({}, {x, Ints(dims)});
  }
  int Ints(const std::vector<int64_t>& values) {
    return Constant(HostTensor::FromValues<int64_t>(DType::kInt64,
                                                    {static_cast<int64_t>(values.size())}, values));
  }

 private:
  std::mt19937_64 random_{3};
};

PlanRequest LeastRequest() {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  request.target.budget = MemoryBudget{0, /*max_extra_flops=*/0};
  return request;
}

struct StripsRun {
  HostTensor output;
  int64_t arena = 0;
};

StripsRun RunStrips(const Graph& graph, const PlanRequest& request, const HostTensor& input) {
  const auto executable = Value(Executable::Compile(Graph(graph), request));
  const auto session = Value(Session::Create(executable));
  StripsRun result{Value(BindTensors(*session, {{"x", input}}))[0],
                   executable->planned().plan.plan.arena};
  EXPECT_TRUE(session->Run().ok());
  return result;
}

// Expects the values of the whole, to roundings, and returns the arenas untiled and in strips.
std::pair<int64_t, int64_t> StripsArenas(const Graph& graph, const Shape& shape) {
  cpu::RegisterDevice();
  std::mt19937_64 random(5);
  const HostTensor input = RandomTensor(random, shape);
  PlanRequest request = LeastRequest();
  const StripsRun strips = RunStrips(graph, request, input);
  request.target.budget.reset();
  const StripsRun whole = RunStrips(graph, request, input);
  EXPECT_LE(RelativeError(strips.output, whole.output), 1e-5);
  EXPECT_LE(RelativeError(strips.output, Value(Evaluate(graph, input))[0]), 1e-5);
  return {whole.arena, strips.arena};
}

// A convolution to 128 channels makes an image of 401,408 bytes. Regression: of these, only the
// mean over both axes at once was read as a pool.
TEST(JoinedStrips, ReductionsHoweverTheyAreWritten) {
  constexpr int64_t kSide = 28, kWide = 128;
  const std::function<int(StripsMaker&, int)> ways[] = {
      [](StripsMaker& net, int x) {
        return net.Add<Reduce>({ReduceMode::kMax}, {x, net.Ints({-1, kWide, 1, 1})});
      },
      [](StripsMaker& net, int x) {
        return net.Add<Reduce>({ReduceMode::kSum}, {x, net.Ints({-1, kWide, 1, 1})});
      },
      [](StripsMaker& net, int x) {
        return net.Add<Reduce>({ReduceMode::kMean, 2},
                               {net.Reshaped(x, {1, kWide, kSide * kSide})});
      },
      [](StripsMaker& net, int x) {
        const int rows = net.Add<Reduce>({ReduceMode::kMean, 3}, {x});
        return net.Add<Reduce>({ReduceMode::kMean, 2}, {rows});
      },
  };
  for (const auto& way : ways) {
    StripsMaker net;
    const int x = net.Conv(net.Input("x", {1, 3, kSide, kSide}), kWide, 3);
    const int pooled = net.Reshaped(way(net, x), {1, kWide});
    net.Output(net.Add<MatrixMul>({}, {pooled, net.Random({kWide, 10})}));
    EXPECT_EQ(StripsArenas(std::move(net).Build(), {1, 3, kSide, kSide}),
              (std::pair<int64_t, int64_t>(401920, 14848)));
  }
}

// A digit network of a common tutorial: the image of 64 channels before the dense layer has 30,976
// bytes. Exporters flatten it by channels or by pixels.
TEST(JoinedStrips, DenseLayersAddWhatHasArrived) {
  for (const bool by_pixels : {false, true}) {
    StripsMaker net;
    const int first = net.Conv(net.Input("x", {1, 1, 28, 28}), 32, 3);
    const int x = net.Conv(net.Pool(first), 64, 3);
    const int moved = by_pixels ? net.Add<Dimshuffle>({{0, 2, 3, 1}}, {x}) : x;
    const int64_t elements = net.var(x).type.shape.num_elements();
    const int y =
        net.Add<MatrixMul>({}, {net.Reshaped(moved, {1, elements}), net.Random({elements, 64})});
    const int z = net.Add<Elemwise>({ScalarFunction::kFuseAddRelu}, {y, net.Random({64})});
    net.Output(net.Add<MatrixMul>({}, {z, net.Random({64, 10})}));
    EXPECT_EQ(StripsArenas(std::move(net).Build(), {1, 1, 28, 28}),
              (std::pair<int64_t, int64_t>(125440, 12800)));
  }
}

// Windows, and padding, of a convolution on the elements in another shape are no window on the
// image.
TEST(JoinedStrips, WindowsOnElementsInAnotherShapeStay) {
  struct Case {
    std::vector<int64_t> dims;
    int64_t window;
    int64_t pad;
  };
  for (const Case& c : {Case{{1, 4, 3, 3}, 3, 1}, Case{{1, 36, 1, 1}, 1, 1}}) {
    StripsMaker net;
    const int image = net.Conv(net.Input("x", {1, 3, 9, 1}), 4, 1);
    ConvBiasParam param;
    param.pad_h = param.pad_w = c.pad;
    const int64_t channels = c.dims[1];
    net.Output(net.Add<ConvBiasForward>(
        param, {net.Reshaped(image, c.dims), net.Random({2, channels, c.window, c.window}),
                net.Random({1, 2, 1, 1})}));
    StripsArenas(std::move(net).Build(), {1, 3, 9, 1});
  }
}

// Regression: the last of 28 rows is in no row of the last image, and a step in which only rows
// that wait became available ended the strips; then the classifier's output was missing.
TEST(JoinedStrips, StepsInWhichAllRowsWaitEndNothing) {
  StripsMaker net;
  const auto pool = [&](int x, int64_t window) {
    PoolingParam param;
    param.window_h = param.window_w = param.stride_h = param.stride_w = window;
    return net.Add<PoolingForward>(param, {x});
  };
  const int first = pool(net.Conv(net.Input("x", {1, 1, 28, 28}), 8, 5), 2);
  const int x = pool(net.Conv(first, 16, 5), 3);
  net.Output(net.Add<MatrixMul>({}, {net.Reshaped(x, {1, 256}), net.Random({256, 10})}));
  const auto [whole, strips] = StripsArenas(std::move(net).Build(), {1, 1, 28, 28});
  EXPECT_LT(strips, whole);
}

}  // namespace
}  // namespace ashlar::testing

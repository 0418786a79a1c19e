// NaN in activations: the libraries' ReLU turns it into 0, our own kernels propagate it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "opr/conv_bias.h"
#include "opr/matrix_mul_bias.h"
#include "runtime/session/bind_tensors.h"
#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

enum class Kind { kConvolution, kDepthwise, kProduct };

Graph Network(Kind kind, bool relu) {
  std::mt19937_64 random(9);
  GraphMaker make;
  if (kind == Kind::kProduct) {
    MatrixMulBiasParam param;
    param.relu = relu;
    make.Output(make.Add<MatrixMulBias>(
        param, {make.Input("data", {4, 8}), make.Constant(RandomTensor(random, {8, 8})),
                make.Constant(RandomTensor(random, {8}))}));
    return std::move(make).Build();
  }
  ConvBiasParam param;
  param.pad_h = param.pad_w = 1;
  if (relu) param.nonlineMode = ScalarFunction::kRelu;
  Shape filter = {8, 8, 3, 3};
  if (kind == Kind::kDepthwise) {
    param.sparse = SparseMode::kGroup;
    filter = {8, 1, 1, 3, 3};
  }
  make.Output(make.Add<ConvBiasForward>(
      param, {make.Input("data", {1, 8, 4, 4}), make.Constant(RandomTensor(random, filter)),
              make.Constant(RandomTensor(random, {1, 8, 1, 1}))}));
  return std::move(make).Build();
}

TEST(NotNumbers, TheLibrariesReluMakesZeroOfThem) {
  OpenEmulated();
  for (const Kind kind : {Kind::kConvolution, Kind::kDepthwise, Kind::kProduct}) {
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << (relu ? " relu" : ""));
      const Graph graph = Network(kind, relu);
      std::mt19937_64 random(10);
      HostTensor data = RandomTensor(random, graph.var(graph.inputs()[0].var).type.shape);
      data.Set(3, std::numeric_limits<double>::quiet_NaN());
      const HostTensor expected = Value(EvaluateGraph(graph, {{"data", data}}))[0];
      const std::unique_ptr<Session> session =
          Value(Session::Create(Value(Executable::Compile(Graph(graph), OnEmulatedGpu()))));
      const std::vector<HostTensor> outputs = Value(BindTensors(*session, {{"data", data}}));
      ASSERT_TRUE(IsOk(session->Run()));
      const bool hidden = relu && kind != Kind::kDepthwise;
      int64_t not_numbers = 0;
      for (int64_t i = 0; i < expected.num_elements(); ++i) {
        if (!std::isnan(expected.At(i))) {
          EXPECT_NEAR(outputs[0].At(i), expected.At(i), 1e-4);
          continue;
        }
        ++not_numbers;
        const double got = outputs[0].At(i);
        EXPECT_TRUE(hidden ? got == 0 : std::isnan(got)) << got;
      }
      EXPECT_GT(not_numbers, 0);
    }
  }
}

}  // namespace
}  // namespace ashlar::testing

// The tolerance of each output when a plan's values are compared with the whole model's.
#include "tools/output_tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "opr/arg_reduce.h"
#include "opr/elemwise.h"
#include "opr/type_cvt.h"
#include "quantization/quantize_model.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"
#include "tools/bound_session.h"
#include "tools/plan_values.h"

namespace ashlar {
namespace {

using testing::GraphMaker;
using testing::RandomImageGraph;
using testing::RandomTensor;
using testing::RandomTiles;
using testing::Value;

constexpr float kScale = 0.25f;

int Quantized(GraphMaker& maker, int x) {
  return maker.Add<TypeCvt>({.dtype = DType::kQuantizedS8, .scale = kScale}, {x});
}
int Floats(GraphMaker& maker, int x) { return maker.Add<TypeCvt>({.dtype = DType::kFloat32}, {x}); }
int Function(GraphMaker& maker, ScalarFunction function, int x) {
  return maker.Add<Elemwise>({function}, {x});
}

OutputTolerance ToleranceOf(int (*make)(GraphMaker& maker, int x), DType precision) {
  GraphMaker maker;
  maker.Output(make(maker, maker.Input("x", {2, 3})));
  PlanRequest request;
  request.target.precision = precision;
  return OutputTolerances(std::move(maker).Build(), request)[0];
}

TEST(OutputToleranceTest, FollowsFromAllComputationsBeforeTheOutput) {
  using F = ScalarFunction;
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  const struct {
    const char* name;
    int (*make)(GraphMaker& maker, int x);
    Metric metric;
    double atol, rtol, rms;
  } cases[] = {
      {"quantised", Quantized, Metric::kMax, 0, 0, kUnlimited},
      {"a maximum", [](GraphMaker& m, int x) { return Function(m, F::kRelu, x); }, Metric::kMax, 0,
       0, kUnlimited},
      {"floats", [](GraphMaker& m, int x) { return Function(m, F::kExp, x); }, Metric::kMax, 1e-6,
       1e-3, kUnlimited},
      {"floats, dequantised before",
       [](GraphMaker& m, int x) { return Function(m, F::kExp, Floats(m, Quantized(m, x))); },
       Metric::kMax, 1e-6, 1e-3, kUnlimited},
      {"an index of floats",
       [](GraphMaker& m, int x) { return m.Add<ArgReduce>({}, {Function(m, F::kExp, x)}); },
       Metric::kMax, 0, 0, kUnlimited},
      {"floats, quantised",
       [](GraphMaker& m, int x) { return Quantized(m, Function(m, F::kExp, x)); }, Metric::kMax, 1,
       0, 0.5},
      {"and dequantised",
       [](GraphMaker& m, int x) { return Floats(m, Quantized(m, Function(m, F::kExp, x))); },
       Metric::kMax, kScale, 0, kScale / 2},
      {"and floats again",
       [](GraphMaker& m, int x) {
         return Function(m, F::kExp, Floats(m, Quantized(m, Function(m, F::kExp, x))));
       },
       Metric::kNmse, 1e-6, 0.02, kUnlimited},
      {"quantised twice",
       [](GraphMaker& m, int x) {
         return Quantized(m, Floats(m, Quantized(m, Function(m, F::kExp, x))));
       },
       Metric::kMax, 2, 0, 0.5},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const OutputTolerance got = ToleranceOf(c.make, DType::kFloat32);
    EXPECT_EQ(got.tolerance.metric, c.metric);
    EXPECT_NEAR(got.tolerance.atol, c.atol, 1e-3);
    EXPECT_EQ(got.tolerance.rtol, c.rtol);
    EXPECT_EQ(got.tolerance.rms, c.rms);
    EXPECT_EQ(got.rounds_floats, c.rms < kUnlimited || c.metric == Metric::kNmse);
  }
  EXPECT_EQ(ToleranceOf(cases[0].make, DType::kFloat16).tolerance.rtol, 0);
  EXPECT_EQ(ToleranceOf(cases[2].make, DType::kFloat16).tolerance.rtol, 0.02);
  EXPECT_EQ(ToleranceOf(cases[2].make, DType::kBFloat16).tolerance.rtol, 0.1);
}

class RandomData final : public CalibrationData {
 public:
  explicit RandomData(const Graph& graph) : input_(graph.inputs()[0]) {
    type_ = graph.var(input_.var).type;
  }
  int64_t runs() const override { return 1; }
  absl::StatusOr<CalibrationRun> Run(int64_t) const override {
    std::mt19937_64 random(1);
    return CalibrationRun{{{input_.name, RandomTensor(random, type_.shape)}}, type_.shape[0], {}};
  }

 private:
  Binding input_;
  TensorType type_;
};

// Returns 1, or the scale if the output was dequantised in the end.
double StepOf(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  const TensorType& input = graph.var(node.inputs[0]).type;
  return node.op->type() == "TypeCvt" && IsQuantized(input.dtype) ? input.quantization.scale() : 1;
}

NamedTensors ShiftedByAStep(const Graph& graph, size_t output, NamedTensors tensors, bool all) {
  const HostTensor& before = tensors[output].second;
  HostTensor after = HostTensor::ZerosLike(before, before.shape());
  const double step = StepOf(graph, graph.outputs()[output].var);
  for (int64_t i = 0; i < before.num_elements(); ++i) {
    const double sign = before.At(i) > 0 ? -1 : 1;  // nothing saturates
    after.Set(i, before.At(i) + (all || i == 0 ? sign * step : 0));
  }
  tensors[output].second = after;
  return tensors;
}

// Regression: outputs of models with 8 bits were allowed 5% of the signal.
TEST(OutputToleranceTest, AnyTilesOfNetworksWithEightBitsPassAndAPlantedStepFails) {
  cpu::RegisterDevice();
  Console console("verify", {});
  int exact = 0, stepped = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Graph floats = RandomImageGraph(random, seed % 2 == 0, 12);
    QuantizeOptions options;
    options.target.threads = 1;
    // A first layer in floats.
    if (seed % 3 == 0) options.keep = {floats.node(1).name};
    absl::StatusOr<QuantizedModel> quantized = QuantizeModel(floats, RandomData(floats), options);
    if (!quantized.ok()) continue;  // nothing has 8 bits
    Model model;
    model.graph = std::move(quantized->graph);
    const Graph& graph = model.graph;
    PlanRequest request;
    request.target.threads = 1;
    request.planning.planner.limits.work = 0;
    const Binding& input = graph.inputs()[0];
    const InputTensors inputs = {
        {input.name, RandomTensor(random, graph.var(input.var).type.shape)}};
    request.target.tiles = RandomTiles(random, graph);
    absl::StatusOr<PlanValues> values = ComparePlanValues(model, request, inputs, console);
    if (!values.ok()) {  // these tiles are not possible
      request.target.tiles = {};
      values = ComparePlanValues(model, request, inputs, console);
    }
    ASSERT_TRUE(values.ok()) << values.status();
    EXPECT_TRUE(values->ok()) << values->ToText();
    const std::unique_ptr<BoundSession> session =
        Value(BoundSession::Create(model, request, inputs, console));
    ASSERT_TRUE(session->Run().ok());
    const NamedTensors& whole = session->outputs();
    const std::vector<OutputTolerance> tolerances = OutputTolerances(graph, request);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Tolerance& tolerance = tolerances[i].tolerance;
      const bool is_exact = tolerance.atol == 0 && tolerance.rtol == 0;
      if (!is_exact && std::isinf(tolerance.rms)) continue;  // floats
      (is_exact ? exact : stepped) += 1;
      for (const bool all : {true, false}) {
        if (!all && !is_exact) continue;
        const NamedTensors planted = ShiftedByAStep(graph, i, whole, all);
        EXPECT_FALSE(Value(CompareOutputs(graph, request, planted, whole))[i].difference.ok);
      }
    }
  }
  EXPECT_GT(exact, 10);
  EXPECT_GT(stepped, 10);
}

}  // namespace
}  // namespace ashlar

// An operator with two outputs from graph to run: what Split will be.
#include <gtest/gtest.h>

#include "graph/tiling/tile.h"
#include "opr/elemwise.h"
#include "opr/table.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// The two halves of its input along axis 0, as views.
class Halves final : public Operator {
 public:
  absl::string_view type() const override { return "TestHalves"; }
  std::string base_name() const override { return "halves"; }
  ParamList params() const override { return {}; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override {
    TensorType half = {inputs[0].type.dtype, inputs[0].type.shape};
    half.shape[0] /= 2;
    return std::vector<TensorType>{half, half};
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor>) const override {
    return absl::UnimplementedError("not asked for");
  }
  StorageRules storage_rules(const Site&) const override {
    return {FormatRule::kUniform, PrecisionRule::kFollow};
  }
  Aliasing aliasing(const Site& site) const override {
    return {.views = {{.output = 0, .input = 0, .offset = 0},
                      {.output = 1, .input = 0, .offset = site.outputs[0].bytes()}}};
  }
};

// x -> EXP -> halves -> ADD of the one to TANH of the other.
Graph WithHalves(const Shape& shape) {
  GraphMaker make;
  const int x = make.Input("x", shape);
  const int exp = make.Add<Elemwise>({.mode = ScalarFunction::kExp}, {x});
  const int first = make.Add(std::make_shared<const Halves>(), {exp}, "halves");
  const int tanh = make.Add<Elemwise>({.mode = ScalarFunction::kTanh}, {first + 1});
  make.Output(make.Add<Elemwise>({.mode = ScalarFunction::kAdd}, {first, tanh}, "sum"));
  return std::move(make).Build();
}

int NodeNamed(const Graph& graph, absl::string_view name) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.node(static_cast<int>(i)).name == name) return static_cast<int>(i);
  }
  return -1;
}

TEST(SeveralOutputs, AreViewsThatNothingIsCopiedFor) {
  cpu::RegisterDevice();
  const Shape shape = {4, 16, 4, 4};
  const auto executable = Value(Executable::Compile(WithHalves(shape), {}));
  const PlannedGraph& planned = executable->planned();
  const int halves = NodeNamed(planned.graph, "halves");
  ASSERT_GE(halves, 0);
  EXPECT_TRUE(planned.model.writes[halves].empty());
  EXPECT_EQ(planned.kernels[halves], nullptr);

  HostTensor x = HostTensor::Zeros(DType::kFloat32, shape);
  for (int64_t i = 0; i < x.num_elements(); ++i) x.Set(i, 1e-3 * static_cast<double>(i));
  std::vector<float> sum(static_cast<size_t>(x.num_elements() / 2));
  const auto session = Value(Session::Create(executable));
  ASSERT_TRUE(IsOk(session->BindInput("x", x.raw(), x.bytes())));
  ASSERT_TRUE(IsOk(session->BindOutput("sum", sum.data(), x.bytes() / 2)));
  ASSERT_TRUE(IsOk(session->Run()));
  for (size_t i = 0; i < sum.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double other = std::exp(x.At(at + x.num_elements() / 2));
    ASSERT_NEAR(sum[i], std::exp(x.At(at)) + std::tanh(other), 1e-4) << i;
  }
}

// It ends what can be executed in parts; plans that need little memory are found around it.
TEST(SeveralOutputs, EndATiledSegment) {
  cpu::RegisterDevice();
  const Graph graph = WithHalves({4, 16, 4, 4});
  const int last = graph.node(NodeNamed(graph, "sum")).id;
  const TileSpec spec =
      Value(TileSpec::Parse(absl::StrCat(graph.node(0).id, "-", last, ":batch2")));
  EXPECT_TRUE(FailsWith(Tile(graph, spec, {}, Operators()).status(), "halves has several outputs"));
  PlanRequest request;
  request.wishes.budget = MemoryBudget{};
  EXPECT_TRUE(IsOk(PlanGraph(graph, request).status()));
}

}  // namespace
}  // namespace ashlar::testing

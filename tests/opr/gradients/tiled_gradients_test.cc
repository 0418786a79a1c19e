// Gradients of tiled graphs. They must equal the untiled graphs' gradients, bit for bit in
// integers, and a recorded run of another system, with its tiles and with others.
// ASHLAR_RANDOM_CASES=2000 tries more graphs than a usual run; ASHLAR_RANDOM_SEED=N only that one.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/tiling/tile.h"
#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "opr/rewrites/composition.h"
#include "opr/table.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

// Returns Float64 integers in [-most, most].
HostTensor Integers(std::mt19937_64& random, const Shape& shape, int64_t most) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat64, shape);
  std::uniform_int_distribution<int64_t> value(-most, most);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.Set(i, static_cast<double>(value(random)));
  }
  return tensor;
}

// Returns the graph with small integer weights, and with operators that keep integers exact.
absl::StatusOr<Graph> InIntegers(const Graph& graph, std::mt19937_64& random) {
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    const std::vector<int> inputs = rewriter.MapAll(node.inputs);
    const auto instead = [&](ScalarFunction function) {
      return rewriter.Substitute(node, std::make_shared<const Elemwise>(ElemwiseParam{function}),
                                 {inputs[0]});
    };
    absl::Status status;
    if (node.op->role() == Role::kConstant) {
      const Shape& shape = node.constant->shape();
      status = rewriter.Substitute(node, Operators().MakeConstant(Integers(random, shape, 1)), {});
    } else if (node.op->role() == Role::kInput) {
      const Shape& shape = graph.var(node.outputs[0]).type.shape;
      InputParam param{DType::kFloat64, {shape.dims().begin(), shape.dims().end()}};
      status =
          rewriter.Substitute(node, std::make_shared<const Host2DeviceCopy>(std::move(param)), {});
    } else if (node.op->type() == LRN::kType) {
      status = instead(ScalarFunction::kAbs);
    } else if (node.op->type() == BatchNorm::kType) {
      status = instead(ScalarFunction::kNegate);
    } else if (node.op->type() == PoolingForward::kType) {
      PoolingParam param = static_cast<const PoolingForward&>(*node.op).param();
      param.mode = PoolingMode::kMax;
      status = rewriter.Substitute(node, std::make_shared<const PoolingForward>(param), inputs);
    } else {
      status = rewriter.Copy(node);
    }
    ASHLAR_RETURN_IF_ERROR(status);
  }
  return std::move(rewriter).Finish();
}

// Returns the gradients of the weighted sum of all outputs, by the ids of inputs and weights.
std::map<int, HostTensor> GradientsOf(const Graph& graph, const HostTensor& x,
                                      const std::vector<HostTensor>& weights) {
  GraphRewriter rewriter(graph);
  std::map<int, int> wrt;  // by id
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kOutput) continue;
    EXPECT_TRUE(rewriter.Copy(node).ok());
    const bool given = node.op->role() == Role::kInput || node.op->role() == Role::kConstant;
    if (!given || graph.var(node.outputs[0]).type.dtype != DType::kFloat64) continue;
    wrt[node.id] = rewriter.Map(node.outputs[0]);
  }
  GraphBuilder& builder = rewriter.builder();
  Composition c(builder);
  int loss = -1;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int output = rewriter.Map(graph.outputs()[i].var);
    const int weight = Value(builder.Add(Operators().MakeConstant(weights[i]), {}))[0];
    const int sum = c.SummedTo(c.Apply(ScalarFunction::kMul, {output, weight}), {1});
    loss = loss < 0 ? sum : c.Apply(ScalarFunction::kAdd, {loss, sum});
  }
  std::vector<int> vars;
  for (const auto& [id, var] : wrt) vars.push_back(var);
  const auto gradients = Value(Differentiate(builder, loss, vars, Operators()));
  const auto add_output = [&](int var) {
    Value(builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {var}));
  };
  add_output(loss);
  std::vector<int> ids = {-1};  // the loss
  auto gradient = gradients.begin();
  for (const auto& [id, var] : wrt) {
    const std::optional<int> made = *gradient++;
    if (!made) continue;
    ids.push_back(id);
    add_output(*made);
  }
  const Graph with = Value(std::move(rewriter).Finish());
  std::vector<HostTensor> values = Value(EvaluateGraph(with, {{graph.inputs()[0].name, x}}));
  std::map<int, HostTensor> by_id;
  for (size_t i = 0; i < ids.size(); ++i) by_id[ids[i]] = std::move(values[i]);
  return by_id;
}

TEST(TiledGradients, AreThoseOfWholeGraphsBitForBitInIntegers) {
  const int64_t only = NumberFrom("ASHLAR_RANDOM_SEED", -1);
  const int64_t cases = NumberFrom("ASHLAR_RANDOM_CASES", kSanitized ? 10 : 100);
  for (int64_t seed = std::max<int64_t>(only, 0); seed < (only < 0 ? cases : only + 1); ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const Graph any = RandomImageGraph(random, seed % 2 == 0, 4, GraphKinds::kFew);
    const TileSpec spec = RandomTiles(random, any);
    const Graph graph = Value(InIntegers(any, random));
    const Graph tiled = Value(Tile(graph, spec, NodesInOrder(graph), Operators()));
    std::vector<HostTensor> weights;
    for (const Binding& output : graph.outputs()) {
      weights.push_back(Integers(random, graph.var(output.var).type.shape, 2));
    }
    const HostTensor x = Integers(random, graph.var(graph.inputs()[0].var).type.shape, 3);
    const auto whole = GradientsOf(graph, x, weights), parts = GradientsOf(tiled, x, weights);
    SCOPED_TRACE(absl::StrCat("again: ASHLAR_RANDOM_SEED=", seed, ": ", spec.ToString()));
    for (const auto& [id, gradient] : whole) {
      ASSERT_EQ(parts.count(id), 1u) << id;
      EXPECT_TRUE(Near(parts.at(id), gradient, 0)) << "by " << id;
    }
  }
}

// Two convolutions and pools of one channel, 16 x 16. The log has the gradient of the input with
// four decimals; the gradients of filters follow from it. Both must come out for any tiles.
class RecordedRun : public ::testing::TestWithParam<const char*> {};

constexpr char kRecord[] = "data/training/seed001_backward.json";

HostTensor MatrixIn(const nlohmann::json& rows, const Shape& shape) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat64, shape);
  int64_t i = 0;
  for (const nlohmann::json& row : rows) {
    for (const nlohmann::json& value : row) tensor.Set(i++, value.get<double>());
  }
  EXPECT_EQ(i, tensor.num_elements());
  return tensor;
}

TEST_P(RecordedRun, GradientsAreThoseOfTheLog) {
  const nlohmann::json record = nlohmann::json::parse(std::ifstream(SharedData(kRecord)));
  const nlohmann::json& weights = record["recovered"]["weights"];
  GraphMaker make;
  ConvolutionParam same;
  same.pad_h = same.pad_w = 1;
  int y = make.Input("x", {1, 1, 16, 16}, DType::kFloat64);
  int filters[2], last = y;
  for (int i = 0; i < 2; ++i) {
    filters[i] = make.Constant(MatrixIn(weights[i == 0 ? "conv1" : "conv2"], {1, 1, 3, 3}));
    last = make.Add<PoolingForward>({}, {make.Add<ConvolutionForward>(same, {last, filters[i]})});
  }
  make.Output(last);
  const Graph graph = std::move(make).Build();
  const int from = graph.node(graph.inputs()[0].node).id;
  const int to = graph.node(graph.var(last).producer).id;
  const std::string kind = GetParam();
  Graph tiled = graph;
  if (!kind.empty()) {
    const TileSpec spec = Value(TileSpec::Parse(absl::StrCat(from, "-", to, ":", kind)));
    tiled = Value(Tile(graph, spec, NodesInOrder(graph), Operators()));
  }
  HostTensor ones = HostTensor::Zeros(DType::kFloat64, {1, 1, 4, 4});
  for (int64_t i = 0; i < 16; ++i) ones.Set(i, 1);
  const auto gradients =
      GradientsOf(tiled, MatrixIn(record["recovered"]["input"], {1, 1, 16, 16}), {ones});
  const HostTensor printed = MatrixIn(record["input_gradient_untiled"]["values"], {1, 1, 16, 16});
  int64_t equal = 0;
  for (int64_t i = 0; i < 256; ++i) {
    equal += std::fabs(gradients.at(from).At(i) - printed.At(i)) <= 0.5e-4 + 1e-5;
  }
  EXPECT_EQ(equal, 256);
  for (int i = 0; i < 2; ++i) {
    const nlohmann::json& dw = record["computed_float64"][i == 0 ? "dW_conv1" : "dW_conv2"];
    const int id = graph.node(graph.var(filters[i]).producer).id;
    EXPECT_TRUE(Near(gradients.at(id), MatrixIn(dw, {1, 1, 3, 3}), 1e-6)) << "conv" << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, RecordedRun,
                         ::testing::Values("", "inputgrid4x4", "grid4x4", "grid4x1", "grid2x2",
                                           "grid1x4", "rows4", "lines2", "lines4"),
                         [](const auto& info) {
                           return *info.param == 0 ? std::string("untiled")
                                                   : std::string(info.param);
                         });

}  // namespace
}  // namespace ashlar::testing

// Constants that several layers share because a file holds equal weights once.
#include "training/own_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "opr/batch_norm.h"
#include "opr/elemwise.h"
#include "opr/layer_norm.h"
#include "opr/matrix_mul.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using F = ScalarFunction;
using InOrder = std::vector<std::string>;

constexpr int kRows = 4, kWidth = 3;

HostTensor FromSeed(uint64_t seed, const Shape& shape = {kWidth, kWidth}) {
  std::mt19937_64 random(seed);
  return RandomTensor(random, shape, -0.9, 0.9);
}

HostTensor Filled(double value, const Shape& shape = {kWidth}) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, value);
  return tensor;
}

class LayerMaker : public GraphMaker {
 public:
  int Weight(const std::string& name, HostTensor value) {
    return Add(Operators().MakeConstant(std::move(value)), {}, name);
  }
  int Linear(int x, int weight, int bias) {
    const int product = Add<MatrixMul>({}, {x, weight});
    return Add<Elemwise>({F::kAdd}, {product, bias});
  }
  using GraphMaker::Add;
  int Tanh(int x) { return Add<Elemwise>({F::kTanh}, {x}); }
};

TrainingOptions MeanSquare() {
  TrainingOptions options;
  options.loss = Loss::kMeanSquare;
  return options;
}

InOrder NamesInOrder(const Parameters& parameters) {
  InOrder names;
  for (const Parameter& parameter : parameters.all) names.push_back(parameter.name);
  return names;
}

Parameters ParametersOf(const Graph& graph, const ParameterOptions& options = {}) {
  return Value(FindParameters(Value(WithOwnWeights(graph)), options));
}

// Runs ten steps; returns the session.
std::unique_ptr<TrainingSession> AfterTenSteps(Graph graph, const TrainingOptions& options) {
  cpu::RegisterDevice();
  auto session =
      Value(TrainingSession::Create(Value(MakeTrainingGraph(std::move(graph), options)), {}));
  for (int i = 0; i < 10; ++i) {
    const HostTensor x = FromSeed(5, {kRows, kWidth}), y = FromSeed(6, {kRows, kWidth});
    EXPECT_TRUE(IsOk(session->Step(x, y, 0.1).status()));
  }
  return session;
}

// tanh(x w1 + b1) w2 + b2; both biases begin with zeros, as one constant or as two.
Graph TwoLayers(bool shared) {
  LayerMaker make;
  const int x = make.Input("x", {kRows, kWidth});
  const int b1 = make.Weight("b1", Filled(0));
  const int b2 = shared ? b1 : make.Weight("b2", Filled(0));
  const int hidden = make.Tanh(make.Linear(x, make.Weight("w1", FromSeed(1)), b1));
  make.Output(make.Linear(hidden, make.Weight("w2", FromSeed(2)), b2));
  return std::move(make).Build();
}

using Matrix = std::vector<double>;

Matrix Doubles(const HostTensor& tensor) {
  Matrix values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.At(i));
  return values;
}

// The same training in double, written by hand: w1, b1, w2 and b2 after ten steps.
std::array<Matrix, 4> TrainedInDouble(const OptimizerSpec& optimizer) {
  std::array<Matrix, 4> w = {Doubles(FromSeed(1)), Matrix(kWidth), Doubles(FromSeed(2)),
                             Matrix(kWidth)};
  std::array<Matrix, 4> velocity;
  for (size_t p = 0; p < w.size(); ++p) velocity[p].resize(w[p].size());
  const Matrix x = Doubles(FromSeed(5, {kRows, kWidth})), y = Doubles(FromSeed(6, {kRows, kWidth}));
  const auto multiply = [&](const Matrix& a, const Matrix& weight, const Matrix& bias) {
    Matrix result(a.size());
    for (int r = 0; r < kRows; ++r) {
      for (int c = 0; c < kWidth; ++c) {
        double sum = bias[c];
        for (int k = 0; k < kWidth; ++k) sum += a[r * kWidth + k] * weight[k * kWidth + c];
        result[r * kWidth + c] = sum;
      }
    }
    return result;
  };
  for (int step = 0; step < 10; ++step) {
    Matrix hidden = multiply(x, w[0], w[1]);
    for (double& value : hidden) value = std::tanh(value);
    Matrix above = multiply(hidden, w[2], w[3]), below(above.size());
    for (size_t i = 0; i < above.size(); ++i) {
      above[i] = 2 * (above[i] - y[i]) / static_cast<double>(above.size());
    }
    std::array<Matrix, 4> gradient;
    for (size_t p = 0; p < w.size(); ++p) gradient[p].resize(w[p].size());
    const auto add = [&](const Matrix& a, const Matrix& g, Matrix& weight, Matrix& bias) {
      for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kWidth; ++c) {
          bias[c] += g[r * kWidth + c];
          for (int k = 0; k < kWidth; ++k) {
            weight[k * kWidth + c] += a[r * kWidth + k] * g[r * kWidth + c];
          }
        }
      }
    };
    add(hidden, above, gradient[2], gradient[3]);
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k < kWidth; ++k) {
        double sum = 0;
        for (int c = 0; c < kWidth; ++c) sum += above[r * kWidth + c] * w[2][k * kWidth + c];
        const double tanh = hidden[r * kWidth + k];
        below[r * kWidth + k] = sum * (1 - tanh * tanh);
      }
    }
    add(x, below, gradient[0], gradient[1]);
    for (size_t p = 0; p < w.size(); ++p) {
      for (size_t i = 0; i < w[p].size(); ++i) {
        velocity[p][i] = optimizer.momentum * velocity[p][i] + gradient[p][i];
        w[p][i] -= 0.1 * velocity[p][i];
      }
    }
  }
  return w;
}

// Regression: the biases had the sum of both gradients.
TEST(OwnWeights, EqualConstantsAreSeparateParameters) {
  const TrainingOptions options = MeanSquare();
  const std::array<Matrix, 4> expected = TrainedInDouble(options.optimizer);
  for (const bool shared : {false, true}) {
    const auto session = AfterTenSteps(TwoLayers(shared), options);
    const InOrder names = {"w1", "b1", "w2", shared ? "b1#2" : "b2"};
    for (size_t p = 0; p < names.size(); ++p) {
      const HostTensor value = Value(session->ReadState(names[p]));
      for (int64_t i = 0; i < value.num_elements(); ++i) {
        EXPECT_NEAR(value.At(i), expected[p][static_cast<size_t>(i)], 1e-6) << names[p];
      }
    }
    // The model as it was given gets the values of each layer.
    const Graph trained = Value(session->Trained(TwoLayers(shared), {}));
    EXPECT_EQ(NamesInOrder(Value(FindParameters(trained, {}))).size(), 4u);
  }
}

// A constant that learns is not one with a constant of the same value that nothing trains.
TEST(OwnWeights, EqualConstantsThatAreNoParametersStay) {
  LayerMaker make;
  const int x = make.Input("x", {kRows, kWidth}), zeros = make.Weight("zeros", Filled(0));
  const int positive = make.Add<Elemwise>({F::kMax}, {x, zeros});
  make.Output(make.Linear(positive, make.Weight("w", FromSeed(1)), zeros));
  const auto session = AfterTenSteps(std::move(make).Build(), MeanSquare());
  EXPECT_EQ(NamesInOrder(session->graph().parameters), (InOrder{"w", "zeros"}));
  EXPECT_NE(Value(session->ReadState("zeros")).At(0), 0);
  const Graph trained = Value(session->Trained({kRows, kWidth}));
  for (const OperatorNode& node : trained.nodes()) {
    if (node.op->type() != Elemwise::kType) continue;
    if (static_cast<const Elemwise&>(*node.op).param().mode != F::kMax) continue;
    EXPECT_EQ(trained.constant(node.inputs[1])->At(0), 0);
  }
}

// The zeros of a bias, of norms and of a running mean, and the ones of norms and a variance.
TEST(OwnWeights, BiasesNormsAndStatisticsAreSeparate) {
  LayerMaker make;
  const int x = make.Input("x", {kRows, kWidth});
  const int zeros = make.Weight("zeros", Filled(0)), ones = make.Weight("ones", Filled(1));
  int y = make.Linear(x, make.Weight("w", FromSeed(1)), zeros);
  y = make.Tanh(make.Add<LayerNorm>({}, {y, ones, zeros}));
  y = make.Tanh(make.Add<LayerNorm>({}, {y, ones, zeros}));
  make.Output(make.Add<BatchNorm>({1e-5}, {y, ones, zeros, zeros, ones}));
  const Graph graph = std::move(make).Build();
  EXPECT_EQ(NamesInOrder(ParametersOf(graph)),
            (InOrder{"w", "zeros", "ones", "zeros#2", "ones#2", "zeros#3", "ones#3", "zeros#4",
                     "zeros#5", "ones#4"}));
  ParameterOptions options;
  options.freeze = "^zeros$";                            // the name in the file, of all of them
  EXPECT_EQ(NamesInOrder(ParametersOf(graph, options)),  // statistics are no weights
            (InOrder{"w", "ones", "ones#2", "ones#3", "zeros#5", "ones#4"}));
  options.freeze = "zeros#2";
  EXPECT_EQ(NamesInOrder(ParametersOf(graph, options)).size(), 9u);
}

// Two applications of one layer share their gradient, although the bias begins with zeros.
TEST(OwnWeights, ALayerThatIsAppliedTwiceStaysOne) {
  LayerMaker make;
  const int x = make.Input("x", {kRows, kWidth});
  const int weight = make.Weight("w", FromSeed(1)), zeros = make.Weight("zeros", Filled(0));
  const int other = make.Weight("other", FromSeed(2));
  const int once = make.Tanh(make.Linear(x, weight, zeros));
  const int twice = make.Tanh(make.Linear(once, weight, zeros));
  make.Output(make.Linear(twice, other, zeros));
  EXPECT_EQ(NamesInOrder(ParametersOf(std::move(make).Build())),
            (InOrder{"w", "zeros", "other", "zeros#2"}));
}

TEST(OwnWeights, AModelWithoutSharedConstantsStaysAsItIs) {
  const Graph graph = TwoLayers(false), own = Value(WithOwnWeights(TwoLayers(false)));
  ASSERT_EQ(own.nodes().size(), graph.nodes().size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    EXPECT_EQ(own.nodes()[n].id, graph.nodes()[n].id);
  }
}

// Regression: the first layer's bias was replaced, too, by one of another size.
TEST(OwnWeights, NewClassesLeaveTheBiasOfOtherLayers) {
  const Graph graph = Value(WithClasses(TwoLayers(true), 5, 1));
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, (Shape{kRows, 5}));
  const Parameters parameters = Value(FindParameters(graph, {}));
  EXPECT_EQ(NamesInOrder(parameters), (InOrder{"w1", "b1", "w2", "b1#2"}));
  EXPECT_EQ(graph.var(parameters.all[1].var).type.shape, (Shape{kWidth}));
}

// Checkpoints find states by their names.
TEST(OwnWeights, NamesOfStatesAreUnique) {
  for (const bool reversed : {false, true}) {
    LayerMaker make;
    const int x = make.Input("x", {kRows, kWidth});
    const int w = make.Weight(reversed ? "w.momentum" : "w", FromSeed(1));
    const int bias = make.Weight(reversed ? "w" : "w.momentum", FromSeed(2, {kWidth}));
    make.Output(make.Linear(x, w, bias));
    const auto session = AfterTenSteps(std::move(make).Build(), MeanSquare());
    InOrder names = session->states();
    EXPECT_EQ(names.size(), 4u);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  }
}

TEST(OwnWeights, AnExpressionThatFreezesNothingIsRefusedByName) {
  LayerMaker make;
  const int x = make.Input("x", {kRows, kWidth});
  const int limit = make.Weight("limit", Filled(0.1));  // matches, but is no weight
  const int y = make.Linear(x, make.Weight("w", FromSeed(1)), make.Weight("b", Filled(0)));
  make.Output(make.Add<Elemwise>({F::kMax}, {make.Tanh(y), limit}));
  const Graph graph = std::move(make).Build();
  for (const char* freeze : {"none_such", "limit"}) {
    ParameterOptions options;
    options.freeze = freeze;
    const absl::Status refused = FindParameters(graph, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_THAT(refused.message(), HasSubstr(freeze));
    EXPECT_THAT(refused.message(), HasSubstr("the weights are w, b"));
  }
}

}  // namespace
}  // namespace ashlar::testing

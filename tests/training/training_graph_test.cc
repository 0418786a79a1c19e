// The graph made from a model: its parameters, losses and learning rates.
#include "training/training_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

HostTensor Seeded(const Shape& shape, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  return RandomTensor(random, shape, -0.5, 0.5);
}

HostTensor AllOf(const Shape& shape, double value) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, value);
  return tensor;
}

std::vector<std::string> NamesOf(const Parameters& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters.all) {
    names.push_back((parameter.learns ? "" : "statistic ") + parameter.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns x [4, 3] times a weight, plus a bias.
Graph Linear(bool softmax = false, DType dtype = DType::kFloat32) {
  GraphMaker make;
  const int x = make.Input("x", {4, 3});
  const int weight = make.Add(Operators().MakeConstant(Seeded({3, 2})), {}, "weight");
  const int bias = make.Add(Operators().MakeConstant(Seeded({2}, 2)), {}, "bias");
  const int product = make.Add<MatrixMul>({}, {x, weight}, "product");
  int y = make.Add<Elemwise>({ScalarFunction::kAdd}, {product, bias}, "y");
  if (softmax) y = make.Add<Softmax>({}, {y}, "prob");
  if (dtype != DType::kFloat32) y = make.Add<TypeCvt>({dtype}, {y}, "converted");
  make.Output(y);
  return std::move(make).Build();
}

// 16- and 64-bit models end in a conversion: the loss reads the Float32 tensor before it.
TEST(TrainingGraph, OutputsOfOtherFloatsAreTrained) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat64}) {
    for (const Loss loss : {Loss::kCrossEntropy, Loss::kMeanSquare}) {
      TrainingOptions options;
      options.loss = loss;
      const TrainingGraph graph =
          Value(MakeTrainingGraph(Linear(loss == Loss::kCrossEntropy, dtype), options));
      EXPECT_EQ(NamesOf(graph.parameters).size(), 2u) << Name(dtype);
    }
  }
}

// Exporters write equal constants once: here all ones and all zeros of two norms.
TEST(TrainingGraph, NormsThatShareConstantsLearnEachTheirOwn) {
  cpu::RegisterDevice();
  GraphMaker make;
  int x = make.Input("x", {2, 3, 4, 4});
  const int ones = make.Add(Operators().MakeConstant(AllOf({3}, 1)), {}, "ones");
  const int zeros = make.Add(Operators().MakeConstant(AllOf({3}, 0)), {}, "zeros");
  for (const char* name : {"a", "b"}) {
    x = make.Add<BatchNorm>({1e-5}, {x, ones, zeros, zeros, ones}, name);
    x = make.Add<Elemwise>({ScalarFunction::kTanh}, {x});
  }
  make.Output(x);
  TrainingOptions options;
  options.loss = Loss::kMeanSquare;
  TrainingGraph graph = Value(MakeTrainingGraph(std::move(make).Build(), options));
  EXPECT_EQ(graph.parameters.all.size(), 8u);
  EXPECT_EQ(graph.parameters.norms.size(), 2u);
  const auto session = Value(TrainingSession::Create(std::move(graph), {}));
  ASSERT_TRUE(IsOk(session->Step(Seeded({2, 3, 4, 4}, 3), Seeded({2, 3, 4, 4}, 4), 0.1).status()));
  // The trained model's constants are no longer shared.
  const Graph trained = Value(session->Trained(session->graph().images_type.shape));
  const auto constants =
      std::count_if(trained.nodes().begin(), trained.nodes().end(),
                    [](const OperatorNode& node) { return node.op->role() == Role::kConstant; });
  EXPECT_EQ(constants, 8);
}

TEST(TrainingGraph, WhatLearnsAndWhatIsFrozen) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOf(Value(FindParameters(Linear(), {}))), (Names{"bias", "weight"}));
  ParameterOptions options;
  options.freeze = "^w";
  EXPECT_EQ(NamesOf(Value(FindParameters(Linear(), options))), (Names{"bias"}));
  options.freeze = "[";
  EXPECT_TRUE(absl::IsInvalidArgument(FindParameters(Linear(), options).status()));
}

// Regression: a frozen bias alone switched a norm to its running statistics, without a word.
TEST(TrainingGraph, NormsFollowTheBatchUnlessScaleAndBiasAreFrozen) {
  GraphMaker make;
  const int x = make.Input("x", {2, 3, 4, 4});
  std::vector<int> inputs = {x};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    inputs.push_back(make.Add(Operators().MakeConstant(Seeded({3}, inputs.size())), {}, name));
  }
  make.Output(make.Add<BatchNorm>({1e-5}, inputs));
  const Graph graph = std::move(make).Build();
  const struct {
    const char* freeze;
    std::vector<std::string> names;
  } rows[] = {
      {"", {"bias", "scale", "statistic mean", "statistic variance"}},
      {"^bias$", {"scale", "statistic mean", "statistic variance"}},
      {"^scale$", {"bias", "statistic mean", "statistic variance"}},
  };
  for (const auto& row : rows) {
    ParameterOptions options;
    options.freeze = row.freeze;
    const Parameters found = Value(FindParameters(graph, options));
    EXPECT_EQ(NamesOf(found), row.names) << row.freeze;
    EXPECT_EQ(found.norms.size(), 1u) << row.freeze;
  }
  // Beside parameters that learn, a norm with both frozen keeps its statistics.
  GraphMaker both;
  std::vector<int> frozen = {both.Input("x", {2, 3, 4, 4})};
  for (const char* name : {"scale", "bias", "mean", "variance"}) {
    frozen.push_back(both.Add(Operators().MakeConstant(Seeded({3}, frozen.size())), {}, name));
  }
  std::vector<int> next = {both.Add<BatchNorm>({1e-5}, frozen)};
  for (const char* name : {"scale2", "bias2", "mean2", "variance2"}) {
    next.push_back(both.Add(Operators().MakeConstant(Seeded({3}, 5 + next.size())), {}, name));
  }
  both.Output(both.Add<BatchNorm>({1e-5}, next));
  ParameterOptions options;
  options.freeze = "^(scale|bias)$";
  EXPECT_EQ(
      NamesOf(Value(FindParameters(std::move(both).Build(), options))),
      (std::vector<std::string>{"bias2", "scale2", "statistic mean2", "statistic variance2"}));
}

TEST(TrainingGraph, LeastSquaresFindTheLine) {
  cpu::RegisterDevice();
  TrainingOptions options;
  options.loss = Loss::kMeanSquare;
  const auto session =
      Value(TrainingSession::Create(Value(MakeTrainingGraph(Linear(), options)), {}));
  const HostTensor x = Seeded({4, 3}, 5), y = Seeded({4, 2}, 6);
  const float first = Value(session->Step(x, y, 0.1));
  float last = first;
  for (int i = 0; i < 300; ++i) last = Value(session->Step(x, y, 0.1));
  EXPECT_LT(last, first / 50);
  EXPECT_TRUE(absl::IsInvalidArgument(session->Step(y, x, 0.1).status()));
}

// The gradient of a weight is added to its momentum while it is computed: the steps are the same,
// except for rounding. Nesterov's momentum reads the gradient twice, and Adam squares it.
TEST(TrainingGraph, GradientsOfWeightsAreSummedInTheMomentum) {
  cpu::RegisterDevice();
  for (const double decay : {0.0, 0.05}) {
    std::vector<float> losses[2];
    for (const bool summed : {false, true}) {
      TrainingOptions options;
      options.loss = Loss::kMeanSquare;
      options.optimizer.weight_decay = decay;
      options.in_parts = !summed;
      TrainingGraph graph = Value(MakeTrainingGraph(Linear(), options));
      const std::vector<std::string> types = ComputingTypes(graph.step);
      EXPECT_EQ(std::count(types.begin(), types.end(), "MatrixMulUpdate"), summed);
      const auto session = Value(TrainingSession::Create(std::move(graph), {}));
      for (int i = 0; i < 20; ++i) {
        losses[summed].push_back(Value(session->Step(Seeded({4, 3}, 5), Seeded({4, 2}, 6), 0.1)));
      }
    }
    for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-6);
  }
  for (const bool adam : {false, true}) {
    TrainingOptions options;
    options.loss = Loss::kMeanSquare;
    options.optimizer.nesterov = true;
    if (adam) options.optimizer.kind = OptimizerSpec::Kind::kAdam;
    const std::vector<std::string> types =
        ComputingTypes(Value(MakeTrainingGraph(Linear(), options)).step);
    EXPECT_EQ(std::count(types.begin(), types.end(), "MatrixMulUpdate"), 0);
  }
}

TEST(TrainingGraph, ASoftmaxAtTheEndIsTheLosses) {
  for (const bool softmax : {false, true}) {
    const TrainingGraph graph = Value(MakeTrainingGraph(Linear(softmax), {}));
    const std::vector<std::string> types = ComputingTypes(graph.evaluation);
    EXPECT_EQ(std::count(types.begin(), types.end(), "Softmax"), 0);
    EXPECT_EQ(graph.labels_type, (TensorType{DType::kInt32, Shape{4}}));
  }
}

TEST(TrainingGraph, RatesFollowTheirSchedule) {
  const struct {
    const char* text;
    double expected[4];  // at steps 0, 10, 20 and 39 of 40, ten an epoch
  } cases[] = {
      {"constant", {0.1, 0.1, 0.1, 0.1}},
      {"step:1:0.5", {0.1, 0.05, 0.025, 0.0125}},
      {"step:2", {0.1, 0.1, 0.01, 0.01}},
      {"cosine", {0.1, 0.0853553391, 0.05, 0.000154133}},
  };
  for (const auto& test : cases) {
    const RateSchedule schedule = Value(ParseSchedule(test.text));
    const int64_t steps[] = {0, 10, 20, 39};
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(schedule.RateAt(0.1, steps[i], 40, 10), test.expected[i], 1e-9)
          << test.text << " at " << steps[i];
    }
  }
  for (const char* text : {"", "step", "step:0", "step:1:2", "linear"}) {
    EXPECT_FALSE(ParseSchedule(text).ok()) << text;
  }
}

}  // namespace
}  // namespace ashlar::testing

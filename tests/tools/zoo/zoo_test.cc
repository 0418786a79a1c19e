#include "tools/zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/random.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/operators.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using ::ashlar::testing::FailsWith;
using ::ashlar::testing::Value;

const ZooModel& Find(const std::string& name) {
  for (const ZooModel& model : ZooModels()) {
    if (name == model.name) return model;
  }
  ADD_FAILURE() << "no model " << name;
  return ZooModels()[0];
}

std::map<std::string, int> OperatorsByType(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const OperatorNode& node : graph.nodes()) counts[std::string(node.op->type())]++;
  return counts;
}

// Returns the elements of trainable constants: no statistics, no shape arithmetic.
int64_t CountParameters(const Graph& graph) {
  int64_t count = 0;
  for (const OperatorNode& node : graph.nodes()) {
    const HostTensor* value = node.constant.get();
    if (value == nullptr || value->dtype() != DType::kFloat32) continue;
    if (node.name.find(".running_") == std::string::npos) count += value->num_elements();
  }
  return count;
}

int64_t CountFlops(const Graph& graph) {
  int64_t flops = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->type() != "ConvolutionForward" && node.op->type() != "MatrixMul") continue;
    flops += FootprintOf(*node.op, graph.SiteOf(node)).computation;
  }
  return flops;
}

struct Expected {
  const char* name;
  int convolutions, norms, pools, concats;
  int64_t parameters;  // as published with the pretrained models
  int64_t flops;       // per image, of convolutions and matrix products
  Shape features;      // of the headless model
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.name; }

class ZooTest : public ::testing::TestWithParam<Expected> {};

TEST_P(ZooTest, IsTheNetworkOfThatName) {
  const Expected& expected = GetParam();
  const Graph graph = Value(Find(expected.name).build({.batch = 2}));
  std::map<std::string, int> counts = OperatorsByType(graph);
  EXPECT_EQ(counts["ConvolutionForward"], expected.convolutions);
  EXPECT_EQ(counts["BatchNorm"], expected.norms);
  EXPECT_EQ(counts["PoolingForward"], expected.pools);
  EXPECT_EQ(counts["Concat"], expected.concats + 1);  // one in the shape arithmetic
  EXPECT_EQ(counts["Softmax"], 1);
  EXPECT_EQ(CountParameters(graph), expected.parameters);
  EXPECT_EQ(CountFlops(graph), 2 * expected.flops);
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].name, "data");
  EXPECT_EQ(graph.var(graph.inputs()[0].var).type.shape, (Shape{2, 3, 224, 224}));
  ASSERT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.outputs()[0].name, "prob");
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, (Shape{2, 1000}));
}

TEST_P(ZooTest, StopsAtTheFeatureMap) {
  const Graph graph = Value(Find(GetParam().name).build({.headless = true}));
  ASSERT_EQ(graph.outputs().size(), 1u);
  EXPECT_EQ(graph.outputs()[0].name, "features");
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, GetParam().features);
}

INSTANTIATE_TEST_SUITE_P(
    All, ZooTest,
    ::testing::Values(Expected{"resnet18", 20, 20, 2, 0, 11689512, 3628146688, {1, 512, 7, 7}},
                      Expected{"resnet50", 53, 53, 2, 0, 25557032, 8178368512, {1, 2048, 7, 7}},
                      Expected{"vgg19", 16, 0, 5, 0, 143667240, 39264124928, {1, 512, 7, 7}},
                      Expected{"mobilenet_v2", 52, 52, 1, 0, 3504872, 601548544, {1, 1280, 7, 7}},
                      Expected{"squeezenet", 26, 0, 4, 8, 1235496, 698303872, {1, 512, 13, 13}},
                      Expected{"inception_v1", 57, 0, 14, 9, 6998552, 3165343744, {1, 1024, 7, 7}}),
    [](const auto& info) { return info.param.name; });

// Runs two images through a network on the host.
HostTensor RunOnHost(const Graph& graph) {
  const Binding& input = graph.inputs()[0];
  Random random(1);
  const HostTensor data = testing::NormalTensor(random, graph.var(input.var).type.shape);
  return Value(testing::EvaluateGraph(graph, {{input.name, data}}))[0];
}

TEST(ZooActivationsTest, StaySaneThroughTheDepth) {
  if (testing::kSanitized) GTEST_SKIP() << "about values alone";
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.name);
    const HostTensor features =
        RunOnHost(Value(model.build({.batch = 2, .image = 64, .headless = true})));
    double sum = 0, square_sum = 0, difference = 0;
    const absl::Span<const float> x = features.data<float>();
    const size_t half = x.size() / 2;
    for (size_t i = 0; i < x.size(); ++i) {
      sum += x[i];
      square_sum += double{x[i]} * x[i];
      difference += std::pow(x[i] - x[(i + half) % x.size()], 2);
    }
    const double n = static_cast<double>(x.size());
    const double variance = square_sum / n - sum / n * sum / n;
    EXPECT_GT(variance, 0.1);
    EXPECT_LT(variance, 10);
    EXPECT_GT(difference / n, 0.5 * variance) << "two images have almost the same features";
  }
}

TEST(ZooActivationsTest, TopFiveAreDistinct) {
  for (const char* name : {"resnet18", "squeezenet", "mobilenet_v2"}) {
    SCOPED_TRACE(name);
    const HostTensor prob = RunOnHost(Value(Find(name).build({.batch = 2, .image = 64})));
    for (int image = 0; image < 2; ++image) {
      std::vector<float> row(prob.data<float>().begin() + image * 1000,
                             prob.data<float>().begin() + (image + 1) * 1000);
      std::partial_sort(row.begin(), row.begin() + 6, row.end(), std::greater<>());
      EXPECT_LT(row[0], 0.9999f);
      for (int i = 0; i < 5; ++i) EXPECT_GT(row[i], row[i + 1] * 1.0001f);
    }
  }
}

TEST(ZooWeightsTest, DependOnTheSeedAlone) {
  const auto first_filter = [](const ZooOptions& options) {
    const Graph graph = Value(BuildResNet18(options));
    for (const OperatorNode& node : graph.nodes()) {
      if (node.name == "layer4.1.conv2.weight") {
        const absl::Span<const float> data = node.constant->data<float>();
        return std::vector<float>(data.begin(), data.end());
      }
    }
    return std::vector<float>();
  };
  const std::vector<float> weights = first_filter({});
  ASSERT_FALSE(weights.empty());
  EXPECT_EQ(weights, first_filter({.batch = 3, .image = 96, .headless = true}));
  EXPECT_NE(weights, first_filter({.seed = 1}));
}

// Golden values, the same on every machine.
TEST(ZooWeightsTest, AreReproducible) {
  Random random(0);
  EXPECT_EQ(random.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(random.Next(), 0x6e789e6aa1b965f4u);
  double sum = 0, square_sum = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Normal();
    sum += x;
    square_sum += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(square_sum / kDraws, 1, 0.01);
}

TEST(ZooSizesTest, RefusesImagesThatAreTooSmall) {
  EXPECT_TRUE(FailsWith(BuildVgg19({.image = 256 + 32}).status(), "224, 448, 672"));
  EXPECT_TRUE(FailsWith(BuildVgg19({.image = 31}).status(), "vgg19"));
  EXPECT_TRUE(FailsWith(BuildSqueezeNet({.image = 2}).status(), "conv1"));
  EXPECT_TRUE(FailsWith(BuildResNet50({.batch = int64_t{1} << 40}).status(), "data"));
  EXPECT_TRUE(testing::IsOk(BuildVgg19({.image = 448}).status()));
  EXPECT_TRUE(testing::IsOk(BuildVgg19({.image = 1000, .headless = true}).status()));
}

}  // namespace
}  // namespace ashlar

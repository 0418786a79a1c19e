// Every zoo model at a small image size: compares the compiled model with the host evaluation of
// the original graph, for each way of compiling it.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

// The largest difference allowed, relative to the largest magnitude of the reference. Float sums in
// another order differ by 1e-6 of a logit; the softmax multiplies this by the logit. Observed: 1e-6
// to 7e-5.
constexpr double kTolerance = 1e-4;

struct NumbersCase {
  const char* model;
  int64_t image;
  bool headless;
};

const NumbersCase kCases[] = {
    {"resnet18", 64, false},     {"resnet50", 64, false},   {"vgg19", 32, true},
    {"mobilenet_v2", 64, false}, {"squeezenet", 64, false}, {"inception_v1", 64, false},
};

struct Variant {
  const char* name;
  int threads;
  const char* passes;
  Order order;
  bool inplace;
};

const Variant kVariants[] = {
    {"default, 1 thread", 1, "all", Order::kLeastPeak, true},
    {"default, 2 threads", 2, "all", Order::kLeastPeak, true},
    {"unfused", 1, "none", Order::kLeastPeak, true},
    {"row-major", 1, "fold_constants,fold_scale,fuse", Order::kLeastPeak, true},
    {"not in place", 1, "all", Order::kLeastPeak, false},
    {"MegEngine's order", 1, "all", Order::kMegEngine, true},
};

class ZooNumbersTest : public ::testing::TestWithParam<NumbersCase> {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

HostTensor Infer(const Graph& graph, const Variant& variant, const HostTensor& input) {
  PlanRequest request;
  request.target.threads = variant.threads;
  request.planning.passes = variant.passes;
  request.planning.order = variant.order;
  request.planning.inplace = variant.inplace;
  auto executable = Executable::Compile(graph, request);
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return HostTensor();
  auto session = Session::Create(*executable);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok()) return HostTensor();
  const std::vector<HostTensor> outputs = *BindTensors(**session, {{"data", input}});
  const absl::Status status = (*session)->Run();
  EXPECT_TRUE(status.ok()) << status;
  return outputs[0];
}

// Builds the model for a batch of two.
absl::StatusOr<Graph> Build(const NumbersCase& test) {
  for (const ZooModel& model : ZooModels()) {
    if (std::string(model.name) == test.model) {
      return model.build({.batch = 2, .image = test.image, .headless = test.headless});
    }
  }
  return absl::NotFoundError(test.model);
}

TEST_P(ZooNumbersTest, AgreesWithTheHostEvaluation) {
  const NumbersCase& test = GetParam();
  const absl::StatusOr<Graph> graph = Build(test);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::mt19937_64 random(1);
  const HostTensor input = testing::RandomTensor(random, Shape{2, 3, test.image, test.image});
  const auto reference = testing::EvaluateGraph(*graph, {{"data", input}});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const HostTensor& expected = (*reference)[0];
  double largest = 0;
  for (float value : expected.data<float>()) largest = std::max<double>(largest, std::fabs(value));
  ASSERT_GT(largest, 0);
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    const HostTensor actual = Infer(*graph, variant, input);
    ASSERT_EQ(actual.num_elements(), expected.num_elements());
    double worst = 0;
    for (int64_t i = 0; i < actual.num_elements(); ++i) {
      const double difference = std::fabs(actual.At(i) - expected.At(i));
      worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    }
    EXPECT_LE(worst / largest, kTolerance);
    RecordProperty(variant.name, std::to_string(worst / largest));
    std::printf("%s, %s: worst relative error %.2e\n", test.model, variant.name, worst / largest);
  }
}

// A damaged image never gets a confident result, and the other image of the batch gets its own.
TEST_P(ZooNumbersTest, NaNsOfAnImageReachItsOutputAndNoOther) {
  const absl::StatusOr<Graph> graph = Build(GetParam());
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::mt19937_64 random(1);
  HostTensor input = testing::RandomTensor(random, Shape{2, 3, GetParam().image, GetParam().image});
  const int64_t half = input.num_elements() / 2;
  for (int64_t i = half; i < 2 * half; ++i) input.Set(i, NAN);
  const HostTensor output = Infer(*graph, kVariants[1], input);
  const int64_t outputs = output.num_elements() / 2;
  ASSERT_GT(outputs, 0);
  for (int64_t i = 0; i < outputs; ++i) {
    ASSERT_FALSE(std::isnan(output.At(i))) << i;
    ASSERT_TRUE(std::isnan(output.At(outputs + i))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, ZooNumbersTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace ashlar

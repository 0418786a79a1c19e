// Plans of one model at several shapes, with one copy of the weights in memory.
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>

#include "serialization/native/writer.h"
#include "tests/library/c/library_test.h"
#include "tests/support/sanitized.h"
#include "tools/zoo/zoo.h"

namespace ashlar::testing {
namespace {

using SharedWeightsLibraryTest = LibraryTest;

// Returns a plan for a batch size, with the kernels of least memory: they are the same on all
// processors.
Plan ForBatch(const Model& model, const ashlar_tensor& input, int64_t batch, const Plan* share) {
  ashlar_shape shape = {};
  shape.input = input.name;
  shape.rank = input.rank;
  std::copy(std::begin(input.shape), std::end(input.shape), shape.shape);
  shape.shape[0] = batch;
  ashlar_plan_options options = Threads(1);
  options.prefer_memory = 1;
  options.shapes = &shape;
  options.num_shapes = 1;
  options.share = share == nullptr ? nullptr : share->get();
  return model.NewPlan(options);
}

// Returns a plan for each batch size; all share weights with the first.
std::vector<Plan> Family(const Model& model, const std::vector<int64_t>& batches) {
  const Plan whole = model.NewPlan(Threads(1));
  std::vector<Plan> plans;
  plans.reserve(batches.size());
  for (const int64_t batch : batches) {
    plans.push_back(ForBatch(model, whole.Inputs()[0], batch, plans.empty() ? nullptr : &plans[0]));
  }
  return plans;
}

std::vector<float> RunBatch(const Plan& plan, int64_t batch) {
  std::vector<float> input, output(static_cast<size_t>(kOutputs * batch), -1);
  for (int64_t i = 0; i < batch; ++i) {
    const std::vector<float> image = InputOf(static_cast<int>(i));
    input.insert(input.end(), image.begin(), image.end());
  }
  Session session = plan.NewSession();
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  return output;
}

TEST_F(SharedWeightsLibraryTest, ResultsAreThoseOfPlansAlone) {
  const Model model(path_);
  const std::vector<int64_t> batches = {2, 1, 5};
  const std::vector<Plan> plans = Family(model, batches);
  for (size_t i = 0; i < batches.size(); ++i) {
    const Plan alone = ForBatch(model, plans[0].Inputs()[0], batches[i], nullptr);
    EXPECT_EQ(alone.Memory().weights_shared, 0);
    EXPECT_EQ(plans[i].Memory().weights_shared, i == 0 ? 0 : alone.Memory().weights) << i;
    EXPECT_EQ(RunBatch(plans[i], batches[i]), RunBatch(alone, batches[i])) << batches[i];
  }
}

TEST_F(SharedWeightsLibraryTest, AnyPlanMayBeReleasedAtAnyTime) {
  const Model model(path_);
  const std::vector<int64_t> batches = {1, 2, 3, 4};
  std::vector<float> expected = RunBatch(Family(model, {3})[0], 3);
  for (size_t released = 0; released < batches.size(); ++released) {
    std::vector<Plan> plans = Family(model, batches);
    plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(released));
    if (released != 2) {
      EXPECT_EQ(RunBatch(plans[released < 2 ? 1 : 2], 3), expected);
    }
    // Only the last plan, whose offsets were chosen beside the others.
    std::vector<Plan> left = Family(model, {1, 2, 3});
    left.erase(left.begin(), left.begin() + 2);
    EXPECT_EQ(RunBatch(left[0], 3), expected);
  }
  std::vector<Plan> plans = Family(model, batches);
  plans[0].Load();
  Session session = plans[2].NewSession();
  plans.clear();
  std::vector<float> input, output(3 * kOutputs);
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> image = InputOf(i);
    input.insert(input.end(), image.begin(), image.end());
  }
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  EXPECT_EQ(output, expected);
}

TEST_F(SharedWeightsLibraryTest, ThatAreInMemoryAreSharedNoMore) {
  const Model model(path_);
  const std::vector<Plan> plans = Family(model, {1, 2});
  plans[1].Load();
  EXPECT_EQ(StatusOf([&] { ForBatch(model, plans[0].Inputs()[0], 4, &plans[0]); }),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("before its first session"),
            std::string::npos);
}

TEST_F(SharedWeightsLibraryTest, AreVerified) {
  const std::vector<Plan> plans = Family(Model(path_), {1, 2});
  for (const Plan& plan : plans) EXPECT_EQ(plan.Verify().ok, 1);
}

TEST_F(SharedWeightsLibraryTest, SessionsComeUpOnManyThreads) {
  const Model model(path_);
  const std::vector<int64_t> batches = {1, 2, 3, 4};
  std::vector<std::vector<float>> expected, got(batches.size());
  for (const int64_t batch : batches)
    expected.push_back(RunBatch(Family(model, {batch})[0], batch));
  const std::vector<Plan> plans = Family(model, batches);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < batches.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = RunBatch(plans[i], batches[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, expected);
}

// Bytes at batch 1, 2, 4, 8 and 16: each plan's own, and of all together.
struct Golden {
  const char* name;
  absl::StatusOr<Graph> (*build)(const ZooOptions& options);
  int64_t apart, together;
};
constexpr Golden kGolden[] = {{"mobilenet_v2", BuildMobileNetV2, 69841120, 13968224},
                              {"resnet50", BuildResNet50, 510609440, 102121888}};

TEST_F(SharedWeightsLibraryTest, OfFiveBatchSizesAreTheBytesOnRecord) {
  for (const Golden& golden : kGolden) {
    if (kSanitized && &golden != &kGolden[0]) continue;
    SCOPED_TRACE(golden.name);
    const absl::StatusOr<Graph> graph = golden.build({});
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(WriteModel(*graph, path_).ok());
    int64_t apart = 0, together = 0;
    for (const Plan& plan : Family(Model(path_), {1, 2, 4, 8, 16})) {
      const ashlar_memory memory = plan.Memory();
      apart += memory.weights;
      together += memory.weights - memory.weights_shared;
    }
    // Other vector lengths pad to other numbers of channels.
    EXPECT_NEAR(static_cast<double>(apart), golden.apart, 0.03 * golden.apart);
    EXPECT_NEAR(static_cast<double>(together), golden.together, 0.03 * golden.together);
    EXPECT_EQ(5 * together, apart);
  }
}

}  // namespace
}  // namespace ashlar::testing

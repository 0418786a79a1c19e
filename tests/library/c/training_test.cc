// Training through the library: in C, and in C++ from images to a trained model.
#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/library/c/c_program.h"
#include "tests/library/c/library_test.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

constexpr int kBatch = 4;

class TrainingTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    for (int i = 0; i < kBatch; ++i) {
      const std::vector<float> one = InputOf(i);
      images_.insert(images_.end(), one.begin(), one.end());
      labels_.push_back(3 * i % 10);
    }
    batch_ = {"data", 4, {kBatch, 3, 16, 16}};
    plan_ = Threads(1);
    plan_.shapes = &batch_;
    plan_.num_shapes = 1;
    options_ = Sized<ashlar_training_options>();
    options_.plan = &plan_;
    options_.momentum = 0.9;
  }
  void TearDown() override {
    std::remove(File("trained.ash").c_str());
    std::remove(File("checkpoint.ash").c_str());
    LibraryTest::TearDown();
  }
  std::string File(const char* name) const { return path_ + "." + name; }
  float Step(TrainingSession& training) const {
    return training.Step(images_.data(), images_.size(), labels_.data(), labels_.size(), 0.05);
  }
  std::vector<float> Logits(TrainingSession& training) const {
    std::vector<float> logits(kBatch * kOutputs);
    training.Evaluate(images_.data(), images_.size(), logits.data(), logits.size());
    return logits;
  }

  std::vector<float> images_;
  std::vector<int32_t> labels_;
  ashlar_shape batch_;
  ashlar_plan_options plan_;
  ashlar_training_options options_;
};

TEST_F(TrainingTest, OneTrainingOnFourThreadsStepsAsOneOrIsRefused) {
  TrainingSession alone = Model(path_).Train(options_), shared = Model(path_).Train(options_);
  std::atomic<int> steps = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const ashlar_status status = StatusOf([&] { Step(shared); });
        ++(status == ASHLAR_OK ? steps : refused);
        EXPECT_TRUE(status == ASHLAR_OK || status == ASHLAR_BUSY) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.Steps(), steps);
  EXPECT_EQ(steps + refused, 80);
  for (int i = 0; i < steps; ++i) Step(alone);
  EXPECT_EQ(Logits(shared), Logits(alone));
}

TEST_F(TrainingTest, SaysWhatAStepTakesAndLearns) {
  TrainingSession training = Model(path_).Train(options_);
  const ashlar_memory memory = training.Memory();
  EXPECT_GT(memory.arena, 0);
  EXPECT_GE(memory.arena, memory.lower_bound);
  int64_t states = 0;
  for (const ashlar_tensor& state : training.States()) states += state.bytes;
  EXPECT_GE(memory.state, states);
  ASSERT_EQ(training.Inputs().size(), 2u);
  EXPECT_EQ(training.Inputs()[0].shape[0], kBatch);
  EXPECT_EQ(training.Inputs()[1].dtype, ASHLAR_I32);
  ASSERT_EQ(training.Outputs().size(), 1u);
  EXPECT_EQ(training.Outputs()[0].bytes, int64_t{kBatch * kOutputs * sizeof(float)});
  const float first = Step(training);
  float last = first;
  for (int i = 0; i < 20; ++i) last = Step(training);
  EXPECT_LT(last, first / 2);
  EXPECT_EQ(training.Steps(), 21);
}

TEST_F(TrainingTest, ABudgetIsMetByWhatIsMadeAgain) {
  const Model model(path_);
  TrainingSession whole = model.Train(options_);
  plan_.memory_budget = ASHLAR_LEAST;
  TrainingSession least = model.Train(options_);
  EXPECT_LT(least.Memory().arena, whole.Memory().arena);
  EXPECT_NEAR(Step(least), Step(whole), 1e-5);
  plan_.memory_budget = 64;
  EXPECT_EQ(StatusOf([&] { model.Train(options_); }), ASHLAR_DOES_NOT_FIT);
  EXPECT_EQ(ashlar_error_bytes(), least.Memory().arena);
}

// Regression: tiles covered only the forward pass, and budgets had no tiles at all.
TEST_F(TrainingTest, NoTilesNeedLessThanTheLeastBudget) {
  const Model model(path_);
  options_.frozen_batch_norm = 1;  // statistics of the batch are not split
  batch_.shape[0] = 1;
  images_.resize(kInputs);
  labels_.resize(1);
  TrainingSession whole = model.Train(options_);
  const float loss = Step(whole);
  plan_.memory_budget = ASHLAR_LEAST;
  TrainingSession least = model.Train(options_);
  EXPECT_NEAR(Step(least), loss, 1e-5);
  plan_.memory_budget = 0;
  int tiled = 0;
  for (int from = 0; from < 20; ++from) {
    for (int to = from + 1; to < 40; ++to) {
      const std::string tile = std::to_string(from) + "-" + std::to_string(to) + ":rows2";
      plan_.tile = tile.c_str();
      if (StatusOf([&] { model.Train(options_); }) != ASHLAR_OK) continue;  // there is no such node
      TrainingSession training = model.Train(options_);
      EXPECT_NEAR(Step(training), loss, 1e-5) << tile;
      EXPECT_GE(training.Memory().arena, least.Memory().arena) << tile;
      ++tiled;
    }
  }
  EXPECT_GT(tiled, 10);
}

// Regression: a list of losses grew with the steps.
TEST_F(TrainingTest, AStepTakesNothingFromTheHeap) {
  using HeapCalls = int64_t (*)();
  const auto heap_calls = reinterpret_cast<HeapCalls>(dlsym(RTLD_DEFAULT, "ashlar_heap_calls"));
  if (heap_calls == nullptr) GTEST_SKIP() << "runs where libashlar-heap-count.so is preloaded";
  plan_.threads = 1;
  TrainingSession training = Model(path_).Train(options_);
  Step(training);
  const int64_t before = heap_calls();
  for (int i = 0; i < 70; ++i) Step(training);
  EXPECT_EQ(heap_calls(), before);
}

TEST_F(TrainingTest, InCTheSameLosses) {
  auto one = options_;
  auto alone = Threads(1);
  one.plan = &alone;
  const std::vector<float> image = InputOf(1);
  const int32_t label = 7;
  TrainingSession training = Model(path_).Train(one);
  float losses[3] = {};
  ASSERT_EQ(TrainModelInC(path_.c_str(), image.data(), image.size() * sizeof(float), &label,
                          sizeof(label), 3, losses),
            ASHLAR_OK)
      << ashlar_error_message();
  for (const float loss : losses) {
    EXPECT_EQ(training.Step(image.data(), image.size(), &label, 1, 0.05), loss);
  }
}

TEST_F(TrainingTest, GoesOnFromACheckpointWithTheSameBits) {
  TrainingSession whole = Model(path_).Train(options_);
  for (int i = 0; i < 3; ++i) Step(whole);
  whole.Checkpoint(File("checkpoint.ash"));
  TrainingSession resumed = Model(path_).Train(options_);
  Step(resumed);
  resumed.Resume(File("checkpoint.ash"));
  EXPECT_EQ(resumed.Steps(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Step(resumed), Step(whole)) << i;
  EXPECT_EQ(Logits(resumed), Logits(whole));
  options_.weight_decay = 0.5;
  TrainingSession other = Model(path_).Train(options_);
  EXPECT_EQ(StatusOf([&] { other.Resume(File("checkpoint.ash")); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { other.Resume(path_); }), ASHLAR_REJECTED_FILE);
}

TEST_F(TrainingTest, WeightsAreReadAndWritten) {
  TrainingSession training = Model(path_).Train(options_);
  const ashlar_tensor* weight = nullptr;
  const auto states = training.States();
  for (const ashlar_tensor& state : states) {
    const std::string name = state.name;
    if (weight == nullptr && state.rank == 2 && name.find("momentum") == std::string::npos) {
      weight = &state;
    }
  }
  ASSERT_NE(weight, nullptr);
  const auto count = static_cast<std::size_t>(weight->bytes) / sizeof(float);
  const std::vector<float> before = Logits(training);
  std::vector<float> values(count);
  training.Read(weight->name, values.data(), count);
  const std::vector<float> zeros(count);
  training.Write(weight->name, zeros.data(), count);
  EXPECT_NE(Logits(training), before);
  training.Write(weight->name, values.data(), count);
  EXPECT_EQ(Logits(training), before);
  EXPECT_EQ(StatusOf([&] { training.Read("none", values.data(), count); }),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { training.Read(weight->name, values.data(), count - 1); }),
            ASHLAR_INVALID_ARGUMENT);
}

TEST_F(TrainingTest, TheTrainedModelRuns) {
  TrainingSession training = Model(path_).Train(options_);
  for (int i = 0; i < 5; ++i) Step(training);
  training.Save(File("trained.ash"));
  const std::vector<float> logits = Logits(training);
  Session session = Model(File("trained.ash")).NewPlan(Threads(1)).NewSession();
  for (int i = 0; i < kBatch; ++i) {  // for one image, like the file, and with its softmax
    const std::vector<float> made = RunOnce(session, InputOf(i));
    double sum = 0;
    for (int k = 0; k < kOutputs; ++k) sum += std::exp(logits[i * kOutputs + k]);
    for (int k = 0; k < kOutputs; ++k) {
      EXPECT_NEAR(made[k], std::exp(logits[i * kOutputs + k]) / sum, 1e-5) << i << " " << k;
    }
  }
  EXPECT_EQ(StatusOf([&] { training.Save(File("trained.txt")); }), ASHLAR_INVALID_ARGUMENT);
}

// Regression: a model whose file was gone was saved as if all of its dimensions were open.
TEST_F(TrainingTest, AModelWithoutItsFileIsSavedForItsShapes) {
  const std::string gone = File("gone.onnx");
  std::filesystem::copy_file(SharedData("data/models/linear.onnx"), gone);
  batch_ = {"x", 2, {2, 4}};
  const TrainingSession training = Model(gone).Train(options_);
  std::filesystem::remove(gone);
  training.Save(File("saved.ash"));
  ashlar_plan_options plan = Threads(1);
  Model(File("saved.ash")).NewPlan(plan);
  const ashlar_shape other = {"x", 2, {3, 4}};
  plan.shapes = &other;
  plan.num_shapes = 1;
  EXPECT_EQ(StatusOf([&] { Model(File("saved.ash")).NewPlan(plan); }), ASHLAR_INVALID_ARGUMENT);
  std::remove(File("saved.ash").c_str());
}

TEST_F(TrainingTest, WhatIsWrongIsSaid) {
  const Model model(path_);
  const auto refused = [&](const char* part, auto change) {
    ashlar_training_options options = options_;
    change(options);
    EXPECT_EQ(StatusOf([&] { model.Train(options); }), ASHLAR_INVALID_ARGUMENT) << part;
    EXPECT_NE(std::string(ashlar_error_message()).find(part), std::string::npos)
        << ashlar_error_message();
  };
  refused("optimizer is 3", [](auto& options) { options.optimizer = 3; });
  refused("loss is -1", [](auto& options) { options.loss = -1; });
  refused("momentum is of", [](auto& options) { options.optimizer = ASHLAR_ADAM; });
  refused("weight_decay is -1", [](auto& options) { options.weight_decay = -1; });
  refused("nesterov", [](auto& options) { options.nesterov = 1, options.momentum = 0; });
  refused("(", [](auto& options) { options.freeze = "("; });
  refused("size", [](auto& options) { options.size = 0; });
  TrainingSession training = model.Train(options_);
  EXPECT_EQ(ashlar_training_step(training.get(), images_.data(), 8, labels_.data(), 16, 1, nullptr),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("images are 8 bytes, expected the 12288"),
            std::string::npos)
      << ashlar_error_message();
  EXPECT_EQ(ashlar_training_steps(nullptr, nullptr), ASHLAR_INVALID_ARGUMENT);
  ashlar_training_release(nullptr);
}

}  // namespace
}  // namespace ashlar::testing

// Files with packed weights, written by the library: their plans need no memory for weights.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/library/c/library_test.h"

namespace ashlar::testing {
namespace {

class PackedFileTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    packed_ = path_ + ".packed.ash";
  }
  void TearDown() override {
    std::remove(packed_.c_str());
    LibraryTest::TearDown();
  }
  std::string packed_;
};

TEST_F(PackedFileTest, WeightsAreUsedWhereTheyLie) {
  for (const int64_t budget : {int64_t{0}, int64_t{ASHLAR_LEAST}}) {
    auto options = Threads(1);
    options.memory_budget = budget;
    const Model model(path_);
    model.Pack(packed_, options);
    const Plan own = model.NewPlan(options), plan = Model(packed_).NewPlan(options);
    EXPECT_EQ(own.Memory().weights_in_file, 0);
    EXPECT_EQ(plan.Memory().weights_in_file, own.Memory().weights);
    EXPECT_EQ(plan.Memory().arena, own.Memory().arena);
    Session first = own.NewSession(), second = plan.NewSession();
    EXPECT_EQ(RunOnce(first, InputOf(1)), RunOnce(second, InputOf(1))) << "budget " << budget;
  }
}

TEST_F(PackedFileTest, WeightsThatDoNotFitAreStreamed) {
  Model(path_).Pack(packed_, Threads(1));
  const Model model(packed_);
  const Plan whole = model.NewPlan(Threads(1));
  auto options = Threads(1);
  options.more = "weights-budget=64";
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_DOES_NOT_FIT);
  const int64_t least = ashlar_error_bytes();
  ASSERT_LT(least, whole.Memory().weights);
  const std::string more = "weights-budget=" + std::to_string(least);
  options.more = more.c_str();
  const Plan plan = model.NewPlan(options);
  EXPECT_LE(plan.Memory().weights, least);
  EXPECT_EQ(plan.Memory().weights_in_file, 0);
  Session first = whole.NewSession(), second = plan.NewSession(), third = plan.NewSession();
  for (int run = 0; run < 3; ++run) {
    const std::vector<float> expected = RunOnce(first, InputOf(run));
    EXPECT_EQ(RunOnce(second, InputOf(run)), expected);
    EXPECT_EQ(RunOnce(third, InputOf(run)), expected);
  }
}

// Writes a file's bytes, without replacing the file.
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Regression: such runs returned ASHLAR_INTERNAL or ASHLAR_NOT_BOUND.
TEST_F(PackedFileTest, AFileThatChangesWhileItIsStreamedIsRejected) {
  Model(path_).Pack(packed_, Threads(1));
  std::ifstream file(packed_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto options = Threads(1);
  options.more = "weights-budget=64";
  const Model model(packed_);
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_DOES_NOT_FIT);
  const std::string more = "weights-budget=" + std::to_string(ashlar_error_bytes());
  options.more = more.c_str();
  const Plan plan = model.NewPlan(options);
  Session session = plan.NewSession();
  const std::vector<float> expected = RunOnce(session, InputOf(1));
  std::string other = bytes;
  other.back() = static_cast<char>(~other.back());
  for (const std::string& changed : {bytes.substr(0, bytes.size() / 2), std::string(), other}) {
    Write(packed_, changed);
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(StatusOf([&] { RunOnce(session, InputOf(1)); }), ASHLAR_REJECTED_FILE);
      EXPECT_NE(std::string(ashlar_error_message()).find(packed_), std::string::npos);
    }
    EXPECT_EQ(StatusOf([&] { plan.NewSession(); }), ASHLAR_OK) << "the window is in memory";
    Write(packed_, bytes);
    for (int run = 0; run < 2; ++run) EXPECT_EQ(RunOnce(session, InputOf(1)), expected);
  }
}

// A window for all weights: hosts need not fear for the file.
TEST_F(PackedFileTest, WeightsThatAllFitTheWindowOutliveTheFile) {
  Model(path_).Pack(packed_, Threads(1));
  auto options = Threads(1);
  options.more = "weights-budget=1GB";
  const Plan plan = Model(packed_).NewPlan(options);
  EXPECT_EQ(plan.Memory().weights_in_file, 0);
  Session session = plan.NewSession();
  const std::vector<float> expected = RunOnce(session, InputOf(1));
  for (const char* const changed : {"", "other bytes"}) {
    Write(packed_, changed);
    for (int run = 0; run < 2; ++run) EXPECT_EQ(RunOnce(session, InputOf(1)), expected);
    Session second = plan.NewSession();
    EXPECT_EQ(RunOnce(second, InputOf(1)), expected);
  }
}

// Returns a budget for weights that is enough for `parts` of the packed weights.
std::string WindowOf(const Plan& whole, double parts) {
  const auto bytes = static_cast<int64_t>(parts * static_cast<double>(whole.Memory().weights));
  return "weights-budget=" + std::to_string(bytes);
}

TEST_F(PackedFileTest, StreamingPlansOfSeveralModelsShareOneWindow) {
  Model(path_).Pack(packed_, Threads(1));
  const std::string least_path = packed_ + ".least.ash";
  auto memory = Threads(1);
  memory.prefer_memory = 1;
  Model(path_).Pack(least_path, memory);
  const Model model(packed_), least(least_path);
  const Plan whole = model.NewPlan(Threads(1));
  auto options = Threads(1);
  const std::string large = WindowOf(whole, 0.95), small = WindowOf(whole, 0.9);
  options.more = large.c_str();
  const Plan first = model.NewPlan(options);
  options.more = small.c_str();
  options.share = first.get();
  const Plan second = model.NewPlan(options), third = least.NewPlan(options);
  for (const Plan* const plan : {&second, &third}) {
    EXPECT_GT(plan->Memory().weights, 0);
    EXPECT_EQ(plan->Memory().weights_shared, plan->Memory().weights) << "all in the first's window";
  }
  Session expected = whole.NewSession(), expected_least = least.NewPlan(memory).NewSession();
  Session sessions[] = {first.NewSession(), second.NewSession(), third.NewSession()};
  for (const int at : {0, 1, 0, 2, 2, 1, 0, 2}) {
    Session& with_all = at == 2 ? expected_least : expected;
    EXPECT_EQ(RunOnce(sessions[at], InputOf(at)), RunOnce(with_all, InputOf(at)));
  }
  options.more = large.c_str();
  options.share = whole.get();
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("has no window to share"), std::string::npos);
  std::remove(least_path.c_str());
}

TEST_F(PackedFileTest, SixteenBitsAreStreamed) {
  auto options = Threads(1);
  options.prefer_memory = 1;
  const int64_t floats = Model(path_).NewPlan(options).Memory().weights;
  for (const char* precision : {"bf16", "fp16"}) {
    SCOPED_TRACE(precision);
    options.precision = precision;
    options.more = nullptr;
    Model(path_).Pack(packed_, options);
    const Model model(packed_);
    const Plan whole = model.NewPlan(options);
    EXPECT_LT(whole.Memory().weights, floats);
    const std::string more = WindowOf(whole, 0.9);
    options.more = more.c_str();
    const Plan streamed = model.NewPlan(options);
    EXPECT_LT(streamed.Memory().weights, whole.Memory().weights);
    Session first = whole.NewSession(), second = streamed.NewSession();
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(RunOnce(second, InputOf(run)), RunOnce(first, InputOf(run)));
    }
  }
}

TEST_F(PackedFileTest, FamiliesAreStreamedThroughOneWindow) {
  Model(path_).Pack(packed_, Threads(1));
  const Model model(packed_);
  auto options = Threads(1);
  const std::string more = WindowOf(model.NewPlan(options), 0.9);
  options.more = more.c_str();
  ashlar_family *streamed = nullptr, *whole = nullptr;
  ASSERT_EQ(ashlar_model_family(model.get(), "data=1..3x3x16x{16,24}", &options, &streamed),
            ASHLAR_OK)
      << ashlar_error_message();
  options.more = nullptr;
  ASSERT_EQ(ashlar_model_family(Model(path_).get(), "data=1..3x3x16x{16,24}", &options, &whole),
            ASHLAR_OK);
  const ashlar_plan* const* plans = nullptr;
  size_t count = 0;
  ASSERT_EQ(ashlar_family_plans(streamed, &plans, &count), ASHLAR_OK);
  ASSERT_EQ(count, 6);
  ashlar_memory all = ASHLAR_INIT(ashlar_memory);
  ASSERT_EQ(ashlar_family_memory(streamed, &all), ASHLAR_OK);
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
    ASSERT_EQ(ashlar_plan_memory(plans[i], &memory), ASHLAR_OK);
    most = std::max(most, memory.weights);
  }
  EXPECT_EQ(all.weights, most) << "the largest window";
  EXPECT_EQ(all.weights_in_file, 0);
  // Runs every point of a family on the same input.
  const auto run = [&](ashlar_family* family, size_t point) {
    ashlar_session* session = nullptr;
    EXPECT_EQ(ashlar_family_session(family, point, nullptr, &session), ASHLAR_OK)
        << ashlar_error_message();
    const ashlar_tensor *inputs = nullptr, *outputs = nullptr;
    size_t tensors = 0;
    EXPECT_EQ(ashlar_plan_inputs(plans[point], &inputs, &tensors), ASHLAR_OK);
    EXPECT_EQ(ashlar_plan_outputs(plans[point], &outputs, &tensors), ASHLAR_OK);
    std::vector<float> x(static_cast<size_t>(inputs[0].bytes) / sizeof(float));
    std::vector<float> y(static_cast<size_t>(outputs[0].bytes) / sizeof(float));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 8 - 1;
    EXPECT_EQ(ashlar_bind_input(session, nullptr, x.data(), x.size() * 4, ASHLAR_HOST), ASHLAR_OK);
    EXPECT_EQ(ashlar_bind_output(session, nullptr, y.data(), y.size() * 4, ASHLAR_HOST), ASHLAR_OK);
    EXPECT_EQ(ashlar_run(session), ASHLAR_OK) << ashlar_error_message();
    ashlar_session_release(session);
    return y;
  };
  for (const size_t point : {5, 0, 3, 1, 4, 2, 5}) {
    const std::vector<float> got = run(streamed, point), expected = run(whole, point);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5) << i;
  }
  ashlar_family_release(streamed);
  ashlar_family_release(whole);
}

TEST_F(PackedFileTest, IsOfTheShapesAskedFor) {
  const ashlar_shape batch = {"data", 4, {3, 3, 16, 16}};
  auto options = Threads(1);
  options.shapes = &batch;
  options.num_shapes = 1;
  Model(path_).Pack(packed_, options);
  const Plan plan = Model(packed_).NewPlan(Threads(2));  // the file does not depend on threads
  ASSERT_EQ(plan.Inputs()[0].shape[0], 3);
  EXPECT_GT(plan.Memory().weights_in_file, 0);
  std::vector<float> input, expected;
  Session alone = Model(path_).NewPlan(Threads(1)).NewSession();
  for (int seed = 0; seed < 3; ++seed) {
    const std::vector<float> one = InputOf(seed), result = RunOnce(alone, one);
    input.insert(input.end(), one.begin(), one.end());
    expected.insert(expected.end(), result.begin(), result.end());
  }
  std::vector<float> output(expected.size());
  Session session = plan.NewSession();
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  for (size_t i = 0; i < output.size(); ++i) EXPECT_NEAR(output[i], expected[i], 1e-5) << i;
}

TEST_F(PackedFileTest, PackingAPackedFileAnewIsPackingTheModel) {
  Model(path_).Pack(packed_, Threads(1));
  auto least = Threads(1);
  least.prefer_memory = 1;
  const Model packed(packed_);
  packed.Pack(packed_, least);  // its own file, replaced after all is written
  EXPECT_GT(Model(packed_).NewPlan(least).Memory().weights_in_file, 0);
}

TEST_F(PackedFileTest, WhatCannotBeWrittenIsSaid) {
  const Model model(path_);
  EXPECT_EQ(StatusOf([&] { model.Pack(path_ + ".onnx"); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find(".ash"), std::string::npos);
  EXPECT_EQ(StatusOf([&] { model.Pack(path_ + "/none/packed.ash"); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("none"), std::string::npos);
  EXPECT_EQ(ashlar_model_pack(model.get(), nullptr, nullptr), ASHLAR_INVALID_ARGUMENT);
  const Plan other = model.NewPlan();
  auto sharing = Threads(1);
  sharing.share = other.get();
  EXPECT_EQ(StatusOf([&] { model.Pack(packed_, sharing); }), ASHLAR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ashlar::testing

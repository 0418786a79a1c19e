// Files with packed weights, written by the library: their plans need no memory for weights.
#include <cstdio>
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

// Several models: sessions of different models in one arena, and a pipeline as one model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/library/c/library_test.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

class SeveralModelsLibraryTest : public LibraryTest {
 protected:
  void TearDown() override {
    std::remove(tail().c_str());
    LibraryTest::TearDown();
  }
  std::string tail() const { return path_ + ".tail.ash"; }
  // Writes a model of functions on so many numbers; it needs an arena.
  void WriteTail(int64_t outputs) {
    GraphMaker maker;
    const int x = maker.Input("x", {1, outputs});
    const int a = maker.Add<Elemwise>({ScalarFunction::kSigmoid}, {x}, "a");
    const int b = maker.Add<Elemwise>({ScalarFunction::kTanh}, {a}, "b");
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kMax}, {b, a}, "y"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), tail())));
  }
};

std::vector<float> RunTail(Session& session, const std::vector<float>& input) {
  std::vector<float> output(input.size(), -1);
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  return output;
}

TEST_F(SeveralModelsLibraryTest, TakeTurnsInOneArena) {
  WriteTail(kOutputs);
  const Plan a = Model(path_).NewPlan(Threads(1)), b = Model(tail()).NewPlan(Threads(1));
  const auto alignment =
      static_cast<size_t>(std::max(a.Memory().arena_alignment, b.Memory().arena_alignment));
  const auto bytes = static_cast<size_t>(std::max(a.Memory().arena, b.Memory().arena));
  const std::unique_ptr<void, decltype(&std::free)> arena(
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment), std::free);
  Session of_a = a.NewSession(arena.get(), bytes), of_b = b.NewSession(arena.get(), bytes);
  Session own_a = a.NewSession(), own_b = b.NewSession();
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> middle = RunOnce(of_a, InputOf(i));
    EXPECT_EQ(middle, RunOnce(own_a, InputOf(i)));
    EXPECT_EQ(RunTail(of_b, middle), RunTail(own_b, middle));
  }
}

TEST_F(SeveralModelsLibraryTest, APipelineIsOneModel) {
  WriteTail(kOutputs);
  std::vector<float> expected;
  {
    const Plan a = Model(path_).NewPlan(Threads(1)), b = Model(tail()).NewPlan(Threads(1));
    Session first = a.NewSession(), second = b.NewSession();
    expected = RunTail(second, RunOnce(first, InputOf(1)));
  }
  const Plan plan = Model(path_).Then(Model(tail())).NewPlan(Threads(1));  // both are released
  EXPECT_EQ(plan.Inputs().size(), 1u);
  EXPECT_EQ(plan.Outputs().size(), 1u);
  Session session = plan.NewSession();
  const std::vector<float> got = RunOnce(session, InputOf(1));
  for (int i = 0; i < kOutputs; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

// Bytes {1,H,W,3} give the same as their floats.
TEST_F(SeveralModelsLibraryTest, AModelTakesPixels) {
  GraphMaker maker;
  const int x = maker.Input("x", {1, 3, 2, 2});
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {x}, "y"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), tail())));
  const Plan plan = Model(tail()).WithPixels("x=bgr,mean:1,scale:2").NewPlan(Threads(1));
  ASSERT_EQ(plan.Inputs().size(), 1u);
  EXPECT_EQ(plan.Inputs().first->dtype, ASHLAR_U8);
  Session session = plan.NewSession();
  std::vector<uint8_t> pixels;
  for (uint8_t i = 0; i < 12; ++i) pixels.push_back(static_cast<uint8_t>(20 * i));
  std::vector<float> output(12, 0);
  session.Input(pixels.data(), pixels.size()).Output(output.data(), output.size()).Run();
  for (size_t i = 0; i < 12; ++i) {
    const float value = 20.0f * static_cast<float>(i % 4 * 3 + (2 - i / 4));
    EXPECT_EQ(output[i], -(value - 1) * 2) << i;
  }
  const Plan frames = Model(tail()).WithPixels("nv12").NewPlan(Threads(1));
  const std::vector<uint8_t> white = {235, 235, 235, 235, 128, 128};
  Session of_frames = frames.NewSession();
  of_frames.Input(white.data(), white.size()).Output(output.data(), output.size()).Run();
  for (const float value : output) EXPECT_NEAR(value, -255, 1e-3);
  const Model model(tail());
  EXPECT_EQ(StatusOf([&] { model.WithPixels("x=rgbx"); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("'rgbx' is no part of pixels"),
            std::string::npos);
  ashlar_model* made = nullptr;
  EXPECT_EQ(ashlar_model_with_pixels(model.get(), nullptr, nullptr, 0, &made),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_model_with_pixels(model.get(), "rgb", nullptr, 1, &made),
            ASHLAR_INVALID_ARGUMENT);
}

TEST_F(SeveralModelsLibraryTest, AModelMayHaveChannelsLast) {
  GraphMaker maker;
  const int x = maker.Input("x", {1, 3, 1, 2});
  HostTensor weights = HostTensor::Zeros(DType::kFloat32, {1, 3, 1, 1});
  for (int64_t c = 0; c < 3; ++c) weights.Set(c, static_cast<double>(c));
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kMul}, {x, maker.Constant(weights)}, "y"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), tail())));
  const Plan plan = Model(tail()).WithChannelsLast().NewPlan(Threads(1));
  EXPECT_EQ(plan.Inputs().first->shape[3], 3);
  EXPECT_EQ(plan.Outputs().first->shape[3], 3);
  Session session = plan.NewSession();
  const std::vector<float> input = {1, 2, 3, 4, 5, 6};
  std::vector<float> output(6, -1);
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  EXPECT_EQ(output, (std::vector<float>{0, 2, 6, 0, 5, 12}));
  EXPECT_EQ(StatusOf([&] { Model(path_).WithChannelsLast().WithChannelsLast(); }), ASHLAR_OK);
}

TEST_F(SeveralModelsLibraryTest, WhatDoesNotFitIsRefused) {
  WriteTail(kOutputs + 1);
  const Model first(path_), second(tail());
  EXPECT_EQ(StatusOf([&] { first.Then(second); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("Float32{1,11}"), std::string::npos)
      << ashlar_error_message();
  ashlar_model* joined = nullptr;
  EXPECT_EQ(ashlar_model_join(nullptr, second.get(), &joined), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_model_join(first.get(), second.get(), nullptr), ASHLAR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ashlar::testing

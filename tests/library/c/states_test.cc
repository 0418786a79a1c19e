// States between runs, families and profiles in the C++ header.
#include <cstdio>
#include <cstring>
#include <numeric>

#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/library/c/library_test.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

class StatesLibraryTest : public LibraryTest {
 protected:
  // Writes a model of two states that are exchanged, with x added to one: a' = b, b' = a + x.
  void SetUp() override {
    LibraryTest::SetUp();
    GraphMaker maker;
    const int x = maker.Input("x", {4}), a = maker.Input("a", {4}), b = maker.Input("b", {4});
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kSub}, {a, b}, "y"));
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kAdd}, {a, x}, "sum"));
    maker.Output(b);
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), cell())));
  }
  void TearDown() override {
    std::remove(cell().c_str());
    LibraryTest::TearDown();
  }
  std::string cell() const { return path_ + ".cell.ash"; }
};

TEST_F(StatesLibraryTest, PassFromRunToRun) {
  const Plan plan = Model(cell()).WithStates("sum=b b=a").NewPlan(Threads(1));
  ASSERT_EQ(plan.States().size(), 2u);
  EXPECT_EQ(std::string(plan.States()[0].name), "a");
  ASSERT_EQ(plan.Inputs().size(), 1u);
  ASSERT_EQ(plan.Outputs().size(), 1u);
  Session session = plan.NewSession();
  const float x[4] = {1, 2, 3, 4};
  float y[4], a[4];
  session.Input(x, 4).Output(y, 4);
  for (int round = 0; round < 2; ++round) {
    float of_a = 0, of_b = 0;  // of element 3
    for (int run = 0; run < 7; ++run) {
      session.Run();
      EXPECT_EQ(y[3], of_a - of_b) << run;
      const float sum = of_a + x[3];
      of_a = of_b;
      of_b = sum;
      session.ReadState("a", a, 4);
      EXPECT_EQ(a[3], of_a);
    }
    session.Reset();
  }
  session.WriteState("b", x, 4);
  session.Run();
  EXPECT_EQ(y[3], -4);
  EXPECT_EQ(StatusOf([&] { session.ReadState("a", a, 3); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { session.ReadState("q", a, 4); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { Model(cell()).WithStates("y=q"); }), ASHLAR_INVALID_ARGUMENT);
}

TEST_F(StatesLibraryTest, FamiliesOutliveTheirModel) {
  std::vector<Plan> plans;
  std::vector<Session> sessions;
  {
    const ashlar::Family family = Model(path_).NewFamily("data={1,2}x3x{16,20}x16", Threads(1));
    plans = family.Plans();
    ASSERT_EQ(plans.size(), 4u);
    ashlar_shape shape = {"data", 4, {2, 3, 20, 16}};
    EXPECT_EQ(family.Point({shape}), 3u);
    shape.shape[0] = 1, shape.shape[2] = 17;
    EXPECT_EQ(family.Point({shape}, /*pad=*/true), 1u);
    EXPECT_EQ(StatusOf([&] { family.Point({shape}); }), ASHLAR_INVALID_ARGUMENT);
    EXPECT_GE(family.Memory().arena, plans[3].Memory().arena);
    for (size_t i = 0; i < plans.size(); ++i) sessions.push_back(family.NewSession(i));
  }
  EXPECT_EQ(plans[1].Inputs()[0].shape[2], 20);
  EXPECT_EQ(RunOnce(sessions[0], InputOf(1)).size(), static_cast<size_t>(kOutputs));
  EXPECT_EQ(StatusOf([&] { Model(path_).NewFamily("data=2..1x3x16x16"); }),
            ASHLAR_INVALID_ARGUMENT);
}

TEST_F(StatesLibraryTest, AProfileHasATimeForEachStep) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  Session session = plan.NewSession();
  const size_t steps = plan.Steps().size();
  EXPECT_EQ(StatusOf([&] { session.Profile(steps); }), ASHLAR_NOT_BOUND);
  const std::vector<float> expected = RunOnce(session, InputOf(1));
  std::vector<float> output(kOutputs, 0);
  const std::vector<float> input = InputOf(1);
  session.Input(input.data(), input.size()).Output(output.data(), output.size());
  const std::vector<double> ms = session.Profile(steps);
  EXPECT_EQ(output, expected);
  EXPECT_GT(std::accumulate(ms.begin(), ms.end(), 0.0), 0);
  std::vector<double> measured(steps), predicted(steps);
  ASSERT_EQ(ashlar_session_profile(session.get(), measured.data(), predicted.data(), steps),
            ASHLAR_OK);
  for (size_t i = 0; i < steps; ++i) {
    EXPECT_GE(measured[i], 0);
    EXPECT_TRUE(predicted[i] >= 0 && (predicted[i] == 0 || plan.Steps()[i].kernel[0] != '\0'));
  }
  EXPECT_NEAR(std::accumulate(predicted.begin(), predicted.end(), 0.0), plan.Memory().predicted_ms,
              1e-9);
  EXPECT_EQ(StatusOf([&] { session.Profile(steps + 1); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ashlar_error_message()), "steps is " + std::to_string(steps + 1) +
                                                     "; the plan has " + std::to_string(steps) +
                                                     " steps");
  EXPECT_EQ(ashlar_session_profile(session.get(), nullptr, nullptr, steps),
            ASHLAR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ashlar::testing

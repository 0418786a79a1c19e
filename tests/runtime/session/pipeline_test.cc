// Several runs in flight on the host, where each ends before the next one begins.
#include "runtime/session/pipeline.h"

#include <gtest/gtest.h>

#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

TEST(PipelineTest, OnTheHostRunsGoInOrderInOneArena) {
  cpu::RegisterDevice();
  GraphMaker make;
  int y = make.Input("x", {100});
  for (int i = 0; i < 3; ++i) y = make.Add<Elemwise>({ScalarFunction::kNegate}, {y});
  make.Output(y);
  const auto executable = Value(Executable::Compile(std::move(make).Build(), {}));
  const std::string output = executable->graph().outputs()[0].name;
  for (const bool arena_each : {false, true}) {
    const std::unique_ptr<Pipeline> pipeline =
        Value(Pipeline::Create(executable, {.in_flight = 3, .arena_each = arena_each}));
    EXPECT_EQ(pipeline->arenas(), 1);
    EXPECT_EQ(pipeline->device_bytes(), executable->planned().plan.plan.arena);
    constexpr int kRuns = 8;
    std::vector<std::vector<float>> inputs, results(kRuns, std::vector<float>(100, -1));
    for (int run = 0; run < kRuns; ++run) inputs.emplace_back(100, static_cast<float>(run));
    int waited = 0;
    const auto wait = [&] {
      ASSERT_TRUE(IsOk(pipeline->Wait()));
      EXPECT_EQ(results[waited], std::vector<float>(100, -static_cast<float>(waited)));
      ++waited;
    };
    for (int run = 0; run < kRuns; ++run) {
      if (pipeline->next() == nullptr) wait();
      Session& session = *pipeline->next();
      ASSERT_TRUE(IsOk(session.BindInput("x", inputs[run].data(), 400)));
      ASSERT_TRUE(IsOk(session.BindOutput(output, results[run].data(), 400)));
      ASSERT_TRUE(IsOk(pipeline->Start()));
    }
    EXPECT_EQ(pipeline->running(), 3);
    while (pipeline->running() > 0) wait();
    EXPECT_EQ(waited, kRuns);
  }
}

}  // namespace
}  // namespace ashlar::testing

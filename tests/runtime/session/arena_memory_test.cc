// Arenas at multiples of the alignment that was requested for their chunks.
#include "runtime/session/arena_memory.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/device/borrowed_memory.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/pipeline.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ArenaMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { cpu::RegisterDevice(); }
  static std::shared_ptr<const Executable> Compiled(int64_t alignment) {
    GraphMaker make;
    int y = make.Input("x", {100});
    for (int i = 0; i < 3; ++i) y = make.Add<Elemwise>({ScalarFunction::kExp}, {y});
    make.Output(y);
    PlanRequest request;
    request.planning.passes = "none";
    request.debug.alignment = alignment;
    return Value(Executable::Compile(std::move(make).Build(), request));
  }
  static int64_t Past(const void* address, int64_t alignment) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)) % alignment;
  }
};

// Regression: only offsets were multiples of --align, and the arena began at a page.
TEST_F(ArenaMemoryTest, BeginsAtAMultipleOfTheAlignment) {
  for (const int64_t alignment : {0, 1, 64, 4096, 1 << 16, 1 << 22, 1 << 28}) {
    SCOPED_TRACE(alignment);
    const auto executable = Compiled(alignment);
    const PlannedGraph& planned = executable->planned();
    const int64_t least = std::max<int64_t>(alignment, 64);
    EXPECT_EQ(planned.arena_alignment(), least);
    const std::unique_ptr<DeviceMemory> arena = Value(AllocateArena(planned, 100));
    EXPECT_EQ(Past(arena->data(), least), 0);
    EXPECT_EQ(arena->bytes(), planned.plan.plan.arena + 100);
    EXPECT_EQ(Past(Value(Session::Create(executable))->arena().data(), least), 0);
    EXPECT_TRUE(IsOk(Pipeline::Create(executable, {.in_flight = 2}).status()));
  }
}

TEST_F(ArenaMemoryTest, LessAlignedArenasAreRefused) {
  const auto executable = Compiled(4096);
  SessionOptions options;
  options.arena = Value(AllocateArena(executable->planned(), 4096));
  EXPECT_TRUE(IsOk(Session::Create(executable, options).status()));
  char* const data = static_cast<char*>(options.arena->data());
  options.arena =
      std::make_shared<BorrowedMemory>(options.arena, data + 64, options.arena->bytes() - 64);
  const absl::Status status = Session::Create(executable, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("not at a multiple of 4096 bytes"), HasSubstr("a multiple of 64")));
}

}  // namespace
}  // namespace ashlar::testing

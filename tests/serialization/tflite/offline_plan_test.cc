// Plans inside TensorFlow Lite files.
#include "serialization/tflite/offline_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "memory/planner.h"
#include "serialization/tflite/file.h"
#include "tests/serialization/tflite/model_builder.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using tflite::BuiltinOperator;

absl::Span<const uint8_t> BytesOf(const std::string& file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

// x -> a -> b, y = b + x, with a constant.
std::string Chain() {
  TfliteBuilder model;
  model.Floats("constant", {2}, {1, 2});
  const int x = model.Tensor("x", {{1, 10}}), a = model.Tensor("a", {{1, 20}}),
            b = model.Tensor("b", {{1, 10}}), y = model.Tensor("y", {{1, 10}});
  model.Operator(BuiltinOperator::RELU, {x}, {a});
  model.Operator(BuiltinOperator::RELU, {a}, {b});
  model.Operator(BuiltinOperator::ADD, {b, x}, {y});
  return model.Finish({x}, {y});
}

// Returns the plan in the file: version, subgraph, number of tensors, offsets.
std::vector<int32_t> PlanIn(const std::string& file) {
  const TfliteFile read = Value(TfliteFile::Open(BytesOf(file), nullptr));
  std::vector<int32_t> plan;
  for (const tflite::Metadata* entry : *read.model().metadata()) {
    if (entry->name()->str() != "OfflineMemoryAllocation") continue;
    EXPECT_TRUE(plan.empty());
    const auto& data = *read.model().buffers()->Get(entry->buffer())->data();
    EXPECT_EQ((reinterpret_cast<const char*>(data.Data()) - file.data()) % 16, 0);
    plan.resize(data.size() / sizeof(int32_t));
    std::memcpy(plan.data(), data.Data(), data.size());
  }
  return plan;
}

TEST(OfflinePlan, TensorsLiveFromTheirMakerToTheirLastReader) {
  const TfliteBuffers buffers = Value(BuffersOfTflite(BytesOf(Chain()), "m"));
  EXPECT_EQ(buffers.num_tensors, 5);
  EXPECT_THAT(buffers.names, ElementsAre("x", "a", "b", "y"));
  const auto life = [](int64_t id, int64_t lower, int64_t upper, int64_t size) {
    return ::testing::AllOf(Field(&memory::Buffer::id, id), Field(&memory::Buffer::lower, lower),
                            Field(&memory::Buffer::upper, upper),
                            Field(&memory::Buffer::size, size));
  };
  EXPECT_THAT(buffers.problem.buffers, ElementsAre(life(1, 0, 4, 40), life(2, 1, 3, 80),
                                                   life(3, 2, 4, 40), life(4, 3, 5, 40)));
}

TEST(OfflinePlan, IsAddedAndReplaced) {
  const std::string file = Chain();
  const TfliteBuffers buffers = Value(BuffersOfTflite(BytesOf(file), "m"));
  const memory::PlanResult result = Value(memory::PlanMemory(buffers.problem));
  EXPECT_EQ(result.plan.arena, 168);  // x to 48, a to 128, then 40 bytes of b
  const std::string planned =
      Value(WithOfflinePlan(BytesOf(file), "m", buffers, result.plan.offsets));
  const auto& at = result.plan.offsets;
  EXPECT_THAT(PlanIn(planned), ElementsAre(1, 0, 5, -1, at[0], at[1], at[2], at[3]));
  const std::string again =
      Value(WithOfflinePlan(BytesOf(planned), "m", buffers, {16, 32, 48, 64}));
  EXPECT_THAT(PlanIn(again), ElementsAre(1, 0, 5, -1, 16, 32, 48, 64));
  // The rest stays.
  const TfliteFile read = Value(TfliteFile::Open(BytesOf(again), nullptr));
  EXPECT_EQ(read.graph().operators()->size(), 3u);
  EXPECT_EQ(NameOfTflite(read, 2), "a");
  EXPECT_EQ(Value(read.Constant(0)).At(1), 2);
}

// Regression: the scratch memory of a transposed convolution came on top of the plan.
TEST(OfflinePlan, HasRoomForScratchMemory) {
  TfliteBuilder model;
  const TfliteTensorSpec bytes = {{1, 2, 2, 4}, tflite::TensorType::INT8, {}, {1.0f}};
  const int x = model.Tensor("x", bytes), y = model.Tensor("y", bytes);
  model.Operator(BuiltinOperator::TRANSPOSE_CONV, {x}, {y});
  const std::string file = model.Finish({x}, {y});
  const TfliteBuffers buffers = Value(BuffersOfTflite(BytesOf(file), "m"));
  EXPECT_THAT(buffers.names, ElementsAre("x", "y", "scratch of operator 0"));
  EXPECT_EQ(buffers.problem.buffers[2].size, 4 * 16);
  const memory::PlanResult result = Value(memory::PlanMemory(buffers.problem));
  EXPECT_EQ(result.plan.arena, 16 + 16 + 64);
  const std::string planned =
      Value(WithOfflinePlan(BytesOf(file), "m", buffers, result.plan.offsets));
  EXPECT_EQ(PlanIn(planned).size(), 5u);  // three numbers and two tensors
}

TEST(OfflinePlan, OffsetsFitTheFormat) {
  const std::string file = Chain();
  const TfliteBuffers buffers = Value(BuffersOfTflite(BytesOf(file), "m"));
  const absl::Status large =
      WithOfflinePlan(BytesOf(file), "m", buffers, {0, 0, 0, int64_t{1} << 31}).status();
  EXPECT_EQ(large.message(), "m: offset 2147483648 does not fit 32 bits");
}

}  // namespace
}  // namespace ashlar::testing

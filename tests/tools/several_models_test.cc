// Several models: one arena for models that never run at once, one plan for a pipeline.
#include <gmock/gmock.h>

#include <algorithm>

#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;

class SeveralModelsTest : public CommandTest {
 protected:
  // Writes the output of model.ash, {2,10}, as numbers from 0 to 1.
  static void WriteTail(const Shape& shape, DType dtype = DType::kFloat32) {
    GraphMaker maker;
    const int x = maker.Input("x", shape, dtype);
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kSigmoid}, {x}, "sigmoid"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("tail.ash"))));
  }
  static int64_t Arena(const std::string& arguments) {
    const ProcessResult result = Ashlar("plan " + arguments + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.Json()["pools"]["arena"]["planned_bytes"].get<int64_t>();
  }
};

TEST_F(SeveralModelsTest, OneArenaIsTheLargest) {
  WriteTail({64, 1000});
  const int64_t a = Arena("model.ash"), b = Arena("tail.ash");
  const ProcessResult result = Ashlar("plan model.ash tail.ash --share-arena --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json shared = result.Json()["share_arena"];
  EXPECT_EQ(shared["arena_bytes"], std::max(a, b));
  EXPECT_EQ(shared["apart_bytes"], a + b);
  ASSERT_EQ(shared["models"].size(), 2u);
  EXPECT_EQ(shared["models"][0]["arena_bytes"], a);
  EXPECT_EQ(shared["models"][1]["model"], "tail.ash");
}

TEST_F(SeveralModelsTest, APipelineIsOneModel) {
  WriteTail({2, 10});
  ASSERT_EQ(Ashlar("convert model.ash --then tail.ash -o both.ash").exit_code, 0);
  const ProcessResult apart = Ashlar("run model.ash --seed 3 -o first.npz");
  ASSERT_EQ(apart.exit_code, 0) << apart.err;
  const ProcessResult then = Ashlar("verify model.ash --then tail.ash");
  EXPECT_EQ(then.exit_code, 0) << then.out << then.err;
  EXPECT_EQ(Arena("model.ash --then tail.ash"), Arena("both.ash"));
  const json inputs = Ashlar("inspect both.ash --json").Json();
  EXPECT_EQ(inputs["inputs"].size(), 1u);
  EXPECT_EQ(inputs["outputs"].size(), 1u);
}

TEST_F(SeveralModelsTest, WhatDoesNotGoTogetherIsSaid) {
  WriteTail({2, 10}, DType::kFloat16);
  ExpectEndings("plan ", {{"model.ash --then tail.ash", 2, "--then tail.ash: output"},
                          {"model.ash --then tail.ash", 2, "Float16{2,10}"},
                          {"model.ash tail.ash", 2, "--share-arena"},
                          {"model.ash --share-arena", 2, "--share-arena"},
                          {"model.ash tail.ash --share-arena -o x.svg", 2, "--share-arena"},
                          {"model.ash missing.ash --share-arena", 6, "missing.ash"},
                          // The tail needs no arena.
                          {"tail.ash model.ash --share-arena --memory-budget 1 --plan-time 20ms", 3,
                           "model.ash: no plan fits"}});
}

}  // namespace
}  // namespace ashlar::testing

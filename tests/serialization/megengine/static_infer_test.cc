#include "serialization/megengine/static_infer.h"

#include <gtest/gtest.h>

#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/get_var_shape.h"
#include "opr/reduce.h"
#include "opr/subtensor.h"
#include "opr/table.h"
#include "serialization/megengine/conventions.h"
#include "tests/support/graph_maker.h"

namespace ashlar {
namespace {

using testing::GraphMaker;

std::string Text(const InferTag& tag) {
  std::string text(Name(tag.type));
  for (const InferTag::Dep& dep : tag.deps) {
    absl::StrAppend(&text, " ", dep.var, dep.value ? "v" : "s");
  }
  return text;
}

HostTensor Integer(int32_t value) {
  return HostTensor::FromValues<int32_t>(DType::kInt32, Shape{1}, {value});
}

TEST(StaticInfer, TagsFollowFromWhatOperatorsRegister) {
  GraphMaker maker;
  const int x = maker.Input("x", {2, 3});
  const int relu = maker.Add<Elemwise>(ElemwiseParam(), {x});
  const int shape = maker.Add<GetVarShape>(GetVarShapeParam(), {relu});
  const int bound = maker.Constant(Integer(1));
  SubtensorParam first{{0}, {0}, {0}, {0}, {1}};
  first.min_rank = 1;
  const int by_index = maker.Add<Subtensor>(first, {shape, bound});
  const int from = maker.Add<Subtensor>(SubtensorParam{{0}, {1}, {0}, {0}, {0}}, {shape, bound});
  const int joined = maker.Add<Concat>(ConcatParam(), {by_index, from});
  ReduceParam sum;
  sum.axis = 1;
  const int reduced = maker.Add<Reduce>(sum, {relu});
  maker.Output(reduced);
  maker.Output(joined);
  const Graph graph = std::move(maker).Build();
  const std::vector<InferTags> tags = ComputeInferTags(graph);
  const auto v = [](int var, const char* kind) { return absl::StrCat(" ", var, kind); };
  const struct {
    int var;
    std::string shape, value;
  } cases[] = {
      {x, "CONST", "RT_STATIC"},
      {relu, "CONST" + v(x, "s"), "RT_STATIC" + v(x, "v")},
      {shape, "CONST" + v(relu, "s"), "CONST" + v(relu, "s")},
      {bound, "CONST", "CONST"},
      {by_index, "CONST" + v(shape, "s"), "CONST" + v(shape, "v") + v(bound, "v")},
      {from, "CONST" + v(shape, "s") + v(bound, "v"), "CONST" + v(shape, "v") + v(bound, "v")},
      {joined, "CONST" + v(by_index, "s") + v(from, "s"),
       "CONST" + v(by_index, "v") + v(from, "v")},
      {reduced, "CONST" + v(relu, "s"), "RT_STATIC" + v(relu, "v") + v(reduced, "s")},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(graph.var(c.var).name);
    EXPECT_EQ(Text(tags[c.var].shape), c.shape);
    EXPECT_EQ(Text(tags[c.var].value), c.value);
  }
  EXPECT_EQ(graph.var(by_index).type.shape, Shape{1});
  EXPECT_EQ(Text(WorkspaceShapeTag(graph.node(graph.var(reduced).producer), tags)),
            "CONST" + v(relu, "s") + v(reduced, "s"));
}

TEST(MegEngineConventions, NameTypesOfTheTable) {
  EXPECT_TRUE(ConventionsOf("Reduce").has_workspace);
  EXPECT_TRUE(ConventionsOf("Reshape").allows_empty_outputs);
  EXPECT_FALSE(ConventionsOf("Softmax").has_workspace);
  int known = 0;
  for (const OperatorRow& row : OperatorRows()) known += *ConventionsOf(row.type).type != 0;
  EXPECT_EQ(known, 15);
}

// An undescribed tag makes everything after it unknown.
TEST(StaticInfer, UnknownValuesSpread) {
  GraphMaker maker;
  const int x = maker.Add(
      testing::Value(Operators().Make("InputCallback", {{"dtype", std::string("Float32")},
                                                        {"shape", std::vector<int64_t>{4}}})),
      {}, "x");
  const int y = maker.Add<Elemwise>(ElemwiseParam(), {x});
  const int z = maker.Add<Elemwise>(ElemwiseParam(), {y});
  maker.Output(z);
  const std::vector<InferTags> tags = ComputeInferTags(std::move(maker).Build());
  EXPECT_EQ(tags[x].value.type, InferType::kNoDesc);
  EXPECT_EQ(tags[y].value.type, InferType::kMissingInput);
  EXPECT_EQ(tags[z].value.type, InferType::kMissingInput);
  EXPECT_EQ(tags[z].shape.type, InferType::kConst);
}

}  // namespace
}  // namespace ashlar

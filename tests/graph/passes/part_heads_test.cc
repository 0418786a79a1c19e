// The heads of detectors are joined kind by kind, and other splits stay.
#include "graph/passes/part_heads.h"

#include <algorithm>

#include "opr/concat.h"
#include "opr/reshape.h"
#include "opr/split.h"
#include "tests/graph/passes/pass_test.h"

namespace ashlar::testing {
namespace {

// Two scales of boxes and classes are joined, and split into these or other sizes.
TEST(PartHeads, BoxesAndClassesAreJoinedSeparately) {
  for (const int64_t boxes : {4, 5}) {
    GraphMaker make;
    const int x = make.Input("x", {1, 4, 4, 6}), y = make.Input("y", {1, 6, 4, 6});
    std::vector<int> scales;
    for (int i = 0; i < 2; ++i) {
      const HostTensor target = HostTensor::FromValues<int64_t>(DType::kInt64, {3}, {1, 10, -1});
      const int both = make.Add<Concat>({.axis = 1}, {x, y});
      scales.push_back(make.Add<Reshape>({}, {both, make.Constant(target)}));
    }
    const int joined = make.Add<Concat>({.axis = 2}, scales);
    for (const int part : make.AddSeveral(
             std::make_shared<const Split>(SplitParam{1, {boxes, 10 - boxes}}), {joined})) {
      make.Output(part);
    }
    const Graph before = std::move(make).Build();
    const Graph after = Value(PartHeads(before, Operators()));
    std::mt19937_64 random(3);
    const std::vector<std::pair<std::string, HostTensor>> inputs = {
        {"x", RandomTensor(random, {1, 4, 4, 6})}, {"y", RandomTensor(random, {1, 6, 4, 6})}};
    const auto evaluate = [&](const Graph& graph) {
      return Value(EvaluateGraph(graph, {{"x", inputs[0].second}, {"y", inputs[1].second}}));
    };
    const std::vector<HostTensor> expected = evaluate(before), actual = evaluate(after);
    ASSERT_EQ(actual.size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(Near(actual[i], expected[i], 0));
    const std::vector<std::string> types = ComputingTypes(after);
    const bool parted = boxes == 4;
    EXPECT_EQ(std::count(types.begin(), types.end(), "Split"), parted ? 0 : 1);
    EXPECT_EQ(std::count(types.begin(), types.end(), "Concat"), parted ? 2 : 3);
  }
}

}  // namespace
}  // namespace ashlar::testing

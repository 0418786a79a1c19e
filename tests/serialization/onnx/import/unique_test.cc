// Unique against a plain search, with counts and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "serialization/counted_results.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

struct Found {
  std::vector<std::vector<double>> slices;
  std::vector<double> indices, inverse, counts;
};

// By definition: every slice is compared with all that were found.
Found UniqueOf(const std::vector<std::vector<double>>& slices, bool sorted) {
  Found found;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (std::find(found.slices.begin(), found.slices.end(), slices[i]) != found.slices.end()) {
      continue;
    }
    found.slices.push_back(slices[i]);
  }
  if (sorted) std::sort(found.slices.begin(), found.slices.end());
  for (const std::vector<double>& slice : found.slices) {
    const auto first = std::find(slices.begin(), slices.end(), slice);
    found.indices.push_back(static_cast<double>(first - slices.begin()));
    found.counts.push_back(static_cast<double>(std::count(slices.begin(), slices.end(), slice)));
  }
  for (const std::vector<double>& slice : slices) {
    const auto at = std::find(found.slices.begin(), found.slices.end(), slice);
    found.inverse.push_back(static_cast<double>(at - found.slices.begin()));
  }
  return found;
}

std::string UniqueText(const std::string& input, bool sorted, int axis, bool has_axis) {
  return absl::StrCat(
      "node { op_type: 'Unique' name: 'the_Unique' input: '", input,
      "' output: 'y' output: 'indices' output: 'inverse' output: 'counts' ",
      "attribute { name: 'sorted' type: INT i: ", sorted ? 1 : 0, " } ",
      has_axis ? absl::StrCat("attribute { name: 'axis' type: INT i: ", axis, " } ") : "", "} ");
}

Graph Read(const std::string& nodes, const Shape& shape, int type,
           const OnnxReadOptions& options = {}) {
  std::string outputs;
  for (const char* name : {"y", "indices", "inverse", "counts"}) {
    absl::StrAppend(&outputs, "output { name: '", name, "' } ");
  }
  return Value(
      ReadText(absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ", nodes,
                            "input ", ValueText("x", shape, type), outputs, "}"),
               options));
}

std::vector<double> ValuesOf(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values.push_back(tensor.At(i));
  return values;
}

std::vector<NamedTensors> RunBothWays(const Graph& graph, const HostTensor& x) {
  std::vector<NamedTensors> runs;
  for (const auto& results :
       {Value(EvaluateGraph(graph, {{"x", x}})), LoadedModel(graph).Run({{"x", x}})}) {
    NamedTensors named;
    for (size_t i = 0; i < results.size(); ++i) {
      named.emplace_back(graph.outputs()[i].name, results[i]);
    }
    runs.push_back(CutToCounts(std::move(named), graph));
  }
  return runs;
}

TEST(OnnxUnique, FindsElementsAndSlices) {
  std::mt19937_64 random(5);
  const struct {
    Shape shape;
    int type;
    DType dtype;
    int axis;
    bool has_axis;
  } cases[] = {{{9}, 1, DType::kFloat32, 0, false},  {{2, 3, 4}, 7, DType::kInt64, 0, false},
               {{8}, 11, DType::kFloat64, 0, true},  {{6, 2}, 1, DType::kFloat32, 0, true},
               {{2, 7}, 6, DType::kInt32, -1, true}, {{2, 6, 2}, 1, DType::kFloat32, 1, true},
               {{1}, 1, DType::kFloat32, 0, false}};
  for (const auto& test : cases) {
    for (const bool sorted : {true, false}) {
      for (const int values : {1, 2, 50}) {
        SCOPED_TRACE(absl::StrCat(test.shape.ToString(), " sorted ", sorted, " of ", values));
        const Graph graph =
            Read(UniqueText("x", sorted, test.axis, test.has_axis), test.shape, test.type);
        HostTensor x = HostTensor::Zeros(test.dtype, test.shape);
        for (int64_t i = 0; i < x.num_elements(); ++i) {
          x.Set(i, static_cast<double>(random() % static_cast<uint64_t>(values)) - 1);
        }
        const int axis = test.axis < 0 ? test.axis + test.shape.rank() : test.axis;
        int64_t outer = 1, inner = 1, n = x.num_elements();
        if (test.has_axis) {
          n = test.shape[axis];
          for (int i = 0; i < axis; ++i) outer *= test.shape[i];
          for (int i = axis + 1; i < test.shape.rank(); ++i) inner *= test.shape[i];
        }
        std::vector<std::vector<double>> slices(static_cast<size_t>(n));
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t k = 0; k < inner; ++k) {
              slices[static_cast<size_t>(i)].push_back(x.At((o * n + i) * inner + k));
            }
          }
        }
        const Found expected = UniqueOf(slices, sorted);
        const auto found = static_cast<int64_t>(expected.slices.size());
        Shape shape = test.has_axis ? test.shape : Shape({found});
        shape[axis] = found;
        std::vector<double> y;
        for (int64_t o = 0; o < outer; ++o) {
          for (const std::vector<double>& slice : expected.slices) {
            y.insert(y.end(), slice.begin() + o * inner, slice.begin() + (o + 1) * inner);
          }
        }
        for (const NamedTensors& results : RunBothWays(graph, x)) {
          EXPECT_EQ(results[0].second.shape(), shape);
          EXPECT_EQ(ValuesOf(results[0].second), y);
          EXPECT_EQ(ValuesOf(results[1].second), expected.indices);
          EXPECT_EQ(ValuesOf(results[2].second), expected.inverse);
          EXPECT_EQ(ValuesOf(results[3].second), expected.counts);
        }
      }
    }
  }
}

// The positive elements of x are counted themselves.
TEST(OnnxUnique, TakesNoFillForAnElement) {
  for (const bool sorted : {true, false}) {
    const Graph graph = Read(
        "initializer { name: 'zero' data_type: 1 float_data: 0 } "
        "initializer { name: 'first' data_type: 7 int64_data: 0 } "
        "node { op_type: 'Greater' input: 'x' input: 'zero' output: 'p' } "
        "node { op_type: 'NonZero' input: 'p' output: 'z' } "
        "node { op_type: 'Gather' input: 'z' input: 'first' output: 'row' } "
        "node { op_type: 'Gather' input: 'x' input: 'row' output: 'v' } " +
            UniqueText("v", sorted, 0, false),
        {8}, 1);
    for (const std::vector<float>& given : {std::vector<float>{-1, 3, 2, -2, 3, 3, 1, 2},
                                            {1, 2, 3, 4, 4, 3, 2, 1},
                                            {-1, -1, -1, -1, -1, -1, -1, -1},
                                            {0, 0, 0, 5, 0, 0, 0, 0}}) {
      const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {8}, given);
      std::vector<std::vector<double>> positive;
      for (const float value : given) {
        if (value > 0) positive.push_back({value});
      }
      const Found expected = UniqueOf(positive, sorted);
      for (const NamedTensors& results : RunBothWays(graph, x)) {
        std::vector<double> y;
        for (const std::vector<double>& slice : expected.slices) y.push_back(slice[0]);
        EXPECT_EQ(ValuesOf(results[0].second), y);
        EXPECT_EQ(ValuesOf(results[1].second), expected.indices);
        EXPECT_EQ(ValuesOf(results[2].second), expected.inverse);
        EXPECT_EQ(ValuesOf(results[3].second), expected.counts);
      }
    }
  }
}

TEST(OnnxUnique, MoreThanTheBoundAreAnError) {
  OnnxReadOptions options;
  options.bounds["the_Unique"] = 2;
  const Graph graph = Read(UniqueText("x", true, 0, false), {4}, 1, options);
  EXPECT_EQ(graph.var(graph.outputs()[0].var).type.shape, Shape({2}));
  const auto of = [](const std::vector<float>& values) {
    return HostTensor::FromValues<float>(DType::kFloat32, {4}, values);
  };
  for (const NamedTensors& results : RunBothWays(graph, of({7, 5, 5, 7}))) {
    EXPECT_EQ(ValuesOf(results[0].second), (std::vector<double>{5, 7}));
    EXPECT_EQ(ValuesOf(results[3].second), (std::vector<double>{2, 2}));
  }
  const absl::Status more = EvaluateGraph(graph, {{"x", of({1, 2, 3, 1})}}).status();
  EXPECT_TRUE(FailsWith(more, "more than the 2 that are planned for"));
  EXPECT_TRUE(FailsWith(more, "the_Unique"));
}

}  // namespace
}  // namespace ashlar::testing

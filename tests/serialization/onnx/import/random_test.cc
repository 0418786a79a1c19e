// Operators of random numbers, by the properties of their distributions. ONNX names no generator,
// so nothing says which numbers are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "absl/strings/str_replace.h"
#include "serialization/counted_results.h"
#include "tests/serialization/onnx/import/computed_node.h"
#include "tests/support/model/loaded_model.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kDrawnRows = 200, kDrawnColumns = 100, kDraws = kDrawnRows * kDrawnColumns;

std::string OpType(const char* type) { return absl::StrCat("op_type: '", type, "' "); }
std::string OfShape(const char* type) {
  return OpType(type) + IntsAttribute("shape", {kDrawnRows, kDrawnColumns});
}

bool IsSame(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

HostTensor FilledWith(DType dtype, const Shape& shape, double value) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, value);
  return tensor;
}

struct RandomCase {
  const char* name;
  std::string node;
  NamedInputs inputs;
  DType dtype;
  double mean, variance;
  double least, below;  // bounds
  Shape shape = {kDrawnRows, kDrawnColumns};
  std::string more = "";  // of the graph
};

std::vector<RandomCase> RandomCases() {
  constexpr DType kFloat = DType::kFloat32, kDouble = DType::kFloat64;
  const auto tensor = [](DType dtype, double value) {
    return NamedInputs{{"x", FilledWith(dtype, {kDrawnRows, kDrawnColumns}, value)}};
  };
  HostTensor logs = HostTensor::Zeros(kFloat, {1, 4});
  for (const int i : {0, 1, 2}) logs.Set(i, std::log(0.2 + 0.1 * i) + 7);
  logs.Set(3, -INFINITY);  // never
  const auto dropout = [](double ratio) {
    return absl::StrCat("initializer { name: 'r' data_type: 1 float_data: ", ratio,
                        " } initializer { name: 't' data_type: 9 int32_data: 1 } ");
  };
  NamedInputs trained = tensor(kFloat, 3);
  constexpr double kNone = 1e9;
  return {
      {"uniform", OfShape("RandomUniform"), {}, kFloat, 0.5, 1 / 12.0, 0, 1},
      {"uniform between",
       OfShape("RandomUniform") + FloatAttribute("low", -1) + FloatAttribute("high", 3),
       {},
       kFloat,
       1,
       16 / 12.0,
       -1,
       3},
      // Floats around 2^23 have steps of 1, so that half of all numbers would be rounded up.
      {"uniform, rounded",
       OfShape("RandomUniform") + FloatAttribute("low", 8388608) + FloatAttribute("high", 8388610),
       {},
       kFloat,
       8388608.75,
       3 / 16.0,
       8388608,
       8388610},
      {"uniform doubles",
       OfShape("RandomUniform") + IntAttribute("dtype", 11),
       {},
       kDouble,
       0.5,
       1 / 12.0,
       0,
       1},
      {"normal", OfShape("RandomNormal"), {}, kFloat, 0, 1, -9, 9},
      {"normal of mean and scale",
       OfShape("RandomNormal") + FloatAttribute("mean", 2) + FloatAttribute("scale", 3) +
           IntAttribute("dtype", 11),
       {},
       kDouble,
       2,
       9,
       -25,
       29},
      {"uniform like", OpType("RandomUniformLike"), tensor(kFloat, 0), kFloat, 0.5, 1 / 12.0, 0, 1},
      {"normal like", OpType("RandomNormalLike"), tensor(kDouble, 0), kDouble, 0, 1, -9, 9},
      {"normal like integers", OpType("RandomNormalLike") + IntAttribute("dtype", 1),
       tensor(DType::kInt64, 0), kFloat, 0, 1, -9, 9},
      {"Bernoulli", OpType("Bernoulli"), tensor(kFloat, 0.25), kFloat, 0.25, 3 / 16.0, 0, 1.5},
      {"Bernoulli of doubles", OpType("Bernoulli"), tensor(kDouble, 0.75), kDouble, 0.75, 3 / 16.0,
       0, 1.5},
      {"Bernoulli to Bool", OpType("Bernoulli") + IntAttribute("dtype", 9), tensor(kFloat, 0.5),
       DType::kBool, 0.5, 0.25, 0, 1.5},
      {"Bernoulli to integers", OpType("Bernoulli") + IntAttribute("dtype", 7), tensor(kFloat, 0.5),
       DType::kInt64, 0.5, 0.25, 0, 1.5},
      {"multinomial",
       OpType("Multinomial") + IntAttribute("sample_size", kDraws),
       {{"x", logs}},
       DType::kInt32,
       11 / 9.0,
       50 / 81.0,
       0,
       3,
       {1, kDraws}},
      {"multinomial to Int64",
       OpType("Multinomial") + IntAttribute("sample_size", kDraws) + IntAttribute("dtype", 7),
       {{"x", logs}},
       DType::kInt64,
       11 / 9.0,
       50 / 81.0,
       0,
       3,
       {1, kDraws}},
      {"dropout",
       OpType("Dropout") + "input: 'x' input: 'r' input: 't'",
       trained,
       kFloat,
       3,
       3,
       0,
       4.01,
       {kDrawnRows, kDrawnColumns},
       dropout(0.25)},
      {"dropout of a half",
       OpType("Dropout") + "input: 'x' input: '' input: 't'",
       trained,
       kFloat,
       3,
       9,
       0,
       6.01,
       {kDrawnRows, kDrawnColumns},
       dropout(kNone)},
  };
}

std::string RandomText(const RandomCase& c) {
  const std::string text = OneNodeText(c.node, c.inputs, 1, c.more);
  // A dropout lists its inputs itself.
  const bool listed = c.node.find("input:") != std::string::npos;
  return listed ? absl::StrReplaceAll(text, {{" input: 'x' output: 'y0'", " output: 'y0'"}}) : text;
}

HostTensor Drawn(const std::string& text, const NamedInputs& inputs) {
  const absl::StatusOr<Graph> graph = ReadText(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  if (!graph.ok()) return HostTensor::Zeros(DType::kFloat32, {0});
  const HostTensor y = Value(EvaluateGraph(*graph, {inputs.begin(), inputs.end()}))[0];
  const HostTensor on_cpu = LoadedModel(*graph).Run(InputTensors(inputs.begin(), inputs.end()))[0];
  EXPECT_TRUE(IsSame(y, on_cpu));
  return y;
}

// Five standard errors of the estimates of 20000 numbers.
TEST(OnnxRandom, HasTheDistribution) {
  for (const RandomCase& c : RandomCases()) {
    SCOPED_TRACE(c.name);
    const HostTensor y = Drawn(RandomText(c), c.inputs);
    ASSERT_EQ(y.dtype(), c.dtype);
    ASSERT_EQ(y.shape(), c.shape);
    double sum = 0, squares = 0, neighbours = 0;
    for (int64_t i = 0; i < kDraws; ++i) {
      const double from_mean = y.At(i) - c.mean;
      sum += from_mean;
      squares += from_mean * from_mean;
      if (i > 0) neighbours += from_mean * (y.At(i - 1) - c.mean);
      EXPECT_GE(y.At(i), c.least);
      EXPECT_LT(y.At(i), c.below);
    }
    const double error = 5 / std::sqrt(kDraws);
    EXPECT_NEAR(sum / kDraws, 0, error * std::sqrt(c.variance));
    EXPECT_NEAR(squares / kDraws / c.variance, 1, error * std::sqrt(2.0));
    EXPECT_NEAR(neighbours / kDraws / c.variance, 0, error);
  }
}

TEST(OnnxRandom, DependsOnSeedOrName) {
  for (const RandomCase& c : RandomCases()) {
    SCOPED_TRACE(c.name);
    const std::string text = RandomText(c);
    const bool integer = c.node.find("Dropout") != std::string::npos;
    const auto seeded = [&](int seed) {
      const std::string attribute =
          integer ? IntAttribute("seed", seed) : FloatAttribute("seed", seed + 0.5);
      return absl::StrReplaceAll(text, {{"node { ", "node { " + attribute}});
    };
    const auto renamed = [](const std::string& of) {
      return absl::StrReplaceAll(of, {{"'y0'", "'other'"}});
    };
    const HostTensor by_name = Drawn(text, c.inputs), by_seed = Drawn(seeded(1), c.inputs);
    EXPECT_TRUE(IsSame(Drawn(text, c.inputs), by_name));
    EXPECT_FALSE(IsSame(Drawn(renamed(text), c.inputs), by_name));
    EXPECT_TRUE(IsSame(Drawn(renamed(seeded(1)), c.inputs), by_seed));
    EXPECT_FALSE(IsSame(Drawn(seeded(2), c.inputs), by_seed));
    EXPECT_FALSE(IsSame(by_name, by_seed));
  }
}

// Whatever the numbers are: probabilities of 0 and 1 leave no choice.
TEST(OnnxRandom, BernoulliOfCertaintiesIsCertain) {
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {kDraws});
  for (int64_t i = 0; i < kDraws; ++i) x.Set(i, i % 2);
  EXPECT_TRUE(IsSame(ComputedNode(OpType("Bernoulli"), {{"x", x}})[0], x));
}

TEST(OnnxRandom, MaskOfDropoutAgreesWithItsOutput) {
  const HostTensor x = FilledWith(DType::kFloat32, {100, 7}, 2);
  for (const double ratio : {0.0, 0.1, 0.5, 0.9}) {
    SCOPED_TRACE(ratio);
    const Graph graph = Value(ReadText(absl::StrCat(
        "ir_version: 8 opset_import { version: 17 } graph { name: 'g' input ",
        ValueText("x", x.shape()), "initializer { name: 'r' data_type: 1 float_data: ", ratio,
        " } initializer { name: 't' data_type: 9 int32_data: 1 } ",
        "node { op_type: 'Dropout' input: 'x' input: 'r' input: 't' output: 'y' output: 'm' } ",
        "output { name: 'y' } output { name: 'm' } }")));
    const std::vector<HostTensor> outputs = LoadedModel(graph).Run({{"x", x}});
    ASSERT_EQ(outputs.size(), 2);
    EXPECT_EQ(outputs[1].dtype(), DType::kBool);
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      ASSERT_NEAR(outputs[0].At(i), outputs[1].At(i) * 2 / (1 - ratio), 1e-5);
    }
  }
}

// Draws of `nodes`, which read c, {1,n} floats: the places of x's elements that are not 0. {n,1} of
// them is ct.
std::vector<double> DrawnOfPlaces(const std::string& nodes, int64_t n) {
  const Graph graph = Value(ReadText(absl::StrCat(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'g' input ", ValueText("x", {6}),
      "node { op_type: 'NonZero' input: 'x' output: 'z' } "
      "node { op_type: 'Cast' input: 'z' output: 'c' ",
      IntAttribute("to", 1),
      "} "
      "node { op_type: 'Transpose' input: 'c' output: 'ct' } ",
      nodes, " output { name: 'y' } }")));
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {6});
  for (int64_t i = 0; i < n; ++i) x.Set(i, 1);
  LoadedModel loaded(graph);
  NamedTensors results;
  const std::vector<HostTensor> outputs = loaded.Run({{"x", x}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.emplace_back(graph.outputs()[i].name, outputs[i]);
  }
  const HostTensor y = CutToCounts(std::move(results), graph)[0].second;
  std::vector<double> elements;
  for (int64_t i = 0; i < y.num_elements(); ++i) elements.push_back(y.At(i));
  EXPECT_EQ(y.shape().rank(), 2);
  return elements;
}

// Sizes that depend on data: as many numbers as there are elements, always the same first ones.
TEST(OnnxRandom, FollowsCounts) {
  const auto node = [](const std::string& type, const std::string& input) {
    return absl::StrCat("node { op_type: '", type, "' input: '", input, "' output: 'y' } ");
  };
  const std::string trained =
      "initializer { name: 't' data_type: 9 int32_data: 1 } "
      "node { op_type: 'Dropout' input: 'c' input: '' input: 't' output: 'y' } ";
  const struct {
    std::string nodes;
    bool (*allowed)(double y, double place);
  } rows[] = {
      {node("RandomNormalLike", "c"), [](double y, double) { return y != 0; }},
      {node("RandomUniformLike", "c"), [](double y, double) { return y > 0 && y < 1; }},
      {node("Bernoulli", "c"), [](double y, double place) { return y == std::min(place, 1.0); }},
      {node("Multinomial", "ct"), [](double y, double) { return y == 0; }},
      {trained, [](double y, double place) { return y == 0 || y == 2 * place; }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.nodes);
    const std::vector<double> all = DrawnOfPlaces(row.nodes, 6);
    for (const int64_t n : {0, 1, 4, 6}) {
      const std::vector<double> some = DrawnOfPlaces(row.nodes, n);
      ASSERT_EQ(some, std::vector<double>(all.begin(), all.begin() + n));
      for (size_t i = 0; i < some.size(); ++i) {
        EXPECT_TRUE(row.allowed(some[i], static_cast<double>(i))) << some[i];
      }
    }
  }
}

// Iterations of a loop draw their own numbers, with and without a seed.
TEST(OnnxRandom, DiffersBetweenIterations) {
  for (const std::string& seed : {std::string(), FloatAttribute("seed", 1)}) {
    const std::string body =
        absl::StrCat("attribute { name: 'body' type: GRAPH g { name: 'b' input ",
                     ValueText("i", {}, 7), " input ", ValueText("go", {}, 9),
                     " node { op_type: 'Identity' input: 'go' output: 'on' } ",
                     "node { op_type: 'RandomUniform' output: 'u' ", IntsAttribute("shape", {1}),
                     seed, "} output { name: 'on' } output { name: 'u' } } } ");
    const HostTensor y =
        Drawn(absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ",
                           "initializer { name: 'n' data_type: 7 int64_data: 9 } ",
                           "initializer { name: 'yes' data_type: 9 int32_data: 1 } ",
                           "node { op_type: 'Loop' name: 'l' input: 'n' input: 'yes' output: 'y' ",
                           body, "} output { name: 'y' } }"),
              {});
    ASSERT_EQ(y.num_elements(), 9);
    std::set<double> different;
    for (int64_t i = 0; i < 9; ++i) different.insert(y.At(i));
    EXPECT_EQ(different.size(), 9);
  }
}

TEST(OnnxRandom, FaultsAreNamed) {
  const HostTensor floats = FilledWith(DType::kFloat32, {4}, 1),
                   integers = FilledWith(DType::kInt64, {4}, 1);
  const NamedInputs training = {{"x", floats},
                                {"r", FilledWith(DType::kFloat32, {}, 0.5)},
                                {"t", FilledWith(DType::kBool, {}, 1)}};
  const std::string known =
      "initializer { name: 'one' data_type: 1 float_data: 1 } "
      "initializer { name: 'yes' data_type: 9 int32_data: 1 } ";
  const struct {
    std::string node;
    NamedInputs inputs;
    const char* error;
  } rows[] = {
      {OpType("RandomUniform"), {}, "attribute 'shape' is missing"},
      {OfShape("RandomNormal") + IntAttribute("dtype", 7), {}, "dtype is Int64, expected floats"},
      {OfShape("RandomNormal") + IntAttribute("dtype", 8), {}, "elements of string"},
      {OfShape("RandomUniform") + "attribute { name: 'high' type: FLOAT f: inf } ",
       {},
       "low is 0 and high inf, expected finite numbers"},
      {OpType("RandomUniform") + IntsAttribute("shape", {100000, 100000}),
       {},
       "constants that are computed while reading take more than"},
      {OpType("RandomUniform") + IntsAttribute("shape", {2, -1}), {}, "-1"},
      {OpType("RandomNormalLike"), {{"x", integers}}, "dtype is Int64, expected floats"},
      {OpType("Bernoulli"), {{"x", integers}}, "input 0 is Int64, expected floats"},
      {OpType("Multinomial"), {{"x", floats}}, "sample_size is 1 for Float32{4}"},
      {OpType("Dropout"), training, "training_mode is not known before the run"},
      {OpType("Dropout") + "input: 'x' input: 'one' input: 'yes'",
       {{"x", floats}},
       "ratio is 1, expected at least 0 and less than 1"},
  };
  for (const auto& row : rows) {
    const RandomCase c = {"", row.node, row.inputs, DType::kFloat32, 0, 0, 0, 0, {}, known};
    EXPECT_TRUE(FailsWith(ReadText(RandomText(c)).status(), row.error));
  }
}

}  // namespace
}  // namespace ashlar::testing

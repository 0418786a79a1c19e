// Operators that few models have, which become several others: compared with their definitions in
// doubles, beyond ONNX's own cases.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <numeric>
#include <random>

#include "tests/serialization/onnx/import/computed_node.h"

namespace ashlar::testing {
namespace {

std::string TextAttribute(const char* name, const std::string& value) {
  return absl::StrCat("attribute { name: '", name, "' type: STRING s: '", value, "' } ");
}
std::string FloatsAttribute(const char* name, const std::vector<float>& values) {
  return absl::StrCat("attribute { name: '", name, "' type: FLOATS floats: [",
                      absl::StrJoin(values, ","), "] } ");
}
// Returns an attribute with a vector; 2: uint8, 11: double.
template <typename T>
std::string TensorAttribute(const char* name, int type, const std::vector<T>& values) {
  const char* const field = type == 11 ? "double_data" : type == 1 ? "float_data" : "int32_data";
  return absl::StrCat("attribute { name: '", name, "' type: TENSOR t { data_type: ", type,
                      " dims: ", values.size(), " ", field, ": [", absl::StrJoin(values, ","),
                      "] } } ");
}

HostTensor Int64s(std::vector<int64_t> values) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())},
                                         values);
}
HostTensor Doubles(const Shape& shape, std::vector<double> values) {
  return HostTensor::FromValues<double>(DType::kFloat64, shape, values);
}
HostTensor Singles(const Shape& shape, std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
}

// Two tensors, in doubles, in step 0 and later ones.
TEST(OnnxRareOperators, OptimizersFollowTheirFormulas) {
  std::mt19937_64 random(1);
  const float rate = 0.05f, norm = 0.01f, alpha = 0.9f, beta = 0.95f, epsilon = 1e-3f;
  for (const std::string type : {"Adagrad", "Adam", "standard", "nesterov"}) {
    for (const int64_t step : {0, 1, 7}) {
      SCOPED_TRACE(absl::StrCat(type, " in step ", step));
      const bool momentum = type == "standard" || type == "nesterov";
      const int states = type == "Adam" ? 2 : 1;
      NamedInputs inputs = {{"r", Singles({}, {rate})}, {"t", Int64s({step})}};
      for (int kind = 0; kind < 2 + states; ++kind) {
        for (int tensor = 0; tensor < 2; ++tensor) {
          inputs.emplace_back(
              absl::StrCat("x", kind, tensor),
              RandomTensor(random, DType::kFloat64, tensor == 0 ? Shape{3} : Shape{2, 2}, 0.1, 1));
        }
      }
      std::string node = absl::StrCat("op_type: '", momentum ? "Momentum" : type,
                                      "' domain: 'ai.onnx.preview.training' ",
                                      FloatAttribute("norm_coefficient", 0.01));
      if (momentum) node += TextAttribute("mode", type);
      if (type == "Adagrad") node += FloatAttribute("decay_factor", 0.1);
      if (type != "Adagrad") node += FloatAttribute("alpha", 0.9) + FloatAttribute("beta", 0.95);
      if (!momentum) node += FloatAttribute("epsilon", 1e-3);
      if (type == "Adam") node += FloatAttribute("norm_coefficient_post", 0.02);
      const std::vector<HostTensor> got = ComputedNode(node, inputs, 2 * (1 + states));
      ASSERT_EQ(got.size(), static_cast<size_t>(2 * (1 + states)));
      for (size_t tensor = 0; tensor < 2; ++tensor) {
        const auto of = [&](size_t kind, int64_t i) {
          return inputs[2 + 2 * kind + tensor].second.At(i);
        };
        for (int64_t i = 0; i < got[tensor].num_elements(); ++i) {
          const double x = of(0, i), g = double{norm} * x + of(1, i), t = static_cast<double>(step);
          double wanted[3] = {};
          if (type == "Adagrad") {
            wanted[1] = of(2, i) + g * g;
            wanted[0] = x - rate / (1 + t * double{0.1f}) * g / (std::sqrt(wanted[1]) + epsilon);
          } else if (type == "Adam") {
            wanted[1] = alpha * of(2, i) + (1 - double{alpha}) * g;
            wanted[2] = beta * of(3, i) + (1 - double{beta}) * g * g;
            const double r = step == 0 ? double{rate}
                                       : rate * std::sqrt(1 - std::pow(double{beta}, t)) /
                                             (1 - std::pow(double{alpha}, t));
            wanted[0] =
                (1 - double{0.02f}) * (x - r * wanted[1] / (std::sqrt(wanted[2]) + epsilon));
          } else {
            wanted[1] = alpha * of(2, i) + (step == 0 ? 1 : double{beta}) * g;
            const double direction = type == "standard" ? wanted[1] : g + alpha * wanted[1];
            wanted[0] = x - rate * direction;
          }
          for (int kind = 0; kind <= states; ++kind) {
            EXPECT_NEAR(got[2 * static_cast<size_t>(kind) + tensor].At(i), wanted[kind], 1e-12);
          }
        }
      }
    }
  }
}

// Heads that share keys, and graphs that read a value from outside.
TEST(OnnxRareOperators, FlexAttentionChangesScoresAndWeights) {
  constexpr int64_t kImages = 2, kHeads = 4, kKeyHeads = 2, kQueries = 3, kKeys = 5, kSize = 4,
                    kValue = 2;
  std::mt19937_64 random(2);
  const auto graph = [](const char* name, const char* type, const char* other) {
    return absl::StrCat("attribute { name: '", name, "' type: GRAPH g { name: '", name,
                        "' node { op_type: '", type, "' input: 's' input: '", other,
                        "' output: 'r' } input { name: 's' } output { name: 'r' } } } ");
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const bool changed : {false, true}) {
      SCOPED_TRACE(absl::StrCat(Name(dtype), changed ? ", changed" : ""));
      const HostTensor q = RandomTensor(random, dtype, {kImages, kHeads, kQueries, kSize});
      const HostTensor k = RandomTensor(random, dtype, {kImages, kKeyHeads, kKeys, kSize});
      const HostTensor v = RandomTensor(random, dtype, {kImages, kKeyHeads, kKeys, kValue});
      const int type = dtype == DType::kFloat32 ? 1 : 11;
      const std::string outside =
          changed ? absl::StrCat("initializer { name: 'bias' data_type: ", type, " dims: 5 ",
                                 type == 1 ? "float_data" : "double_data",
                                 ": [0, 1, -inf, 0.5, -1] } initializer { name: 'half' data_type: ",
                                 type, " ", type == 1 ? "float_data" : "double_data", ": 0.5 }")
                  : "";
      const std::vector<HostTensor> got = ComputedNode(
          absl::StrCat(
              "op_type: 'FlexAttention' domain: 'ai.onnx.preview' ",
              changed ? graph("score_mod", "Add", "bias") + graph("prob_mod", "Mul", "half") : "",
              FloatAttribute("scale", 0.75)),
          {{"q", q}, {"k", k}, {"v", v}}, 1, outside);
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got[0].dtype(), dtype);
      ASSERT_EQ(got[0].shape(), Shape({kImages, kHeads, kQueries, kValue}));
      const double bias[kKeys] = {0, 1, -INFINITY, 0.5, -1};
      for (int64_t row = 0; row < kImages * kHeads * kQueries; ++row) {
        const int64_t shared =
            row / kQueries / kHeads * kKeyHeads + row / kQueries % kHeads / (kHeads / kKeyHeads);
        double weights[kKeys], sum = 0;
        for (int64_t i = 0; i < kKeys; ++i) {
          double product = 0;
          for (int64_t d = 0; d < kSize; ++d) {
            product += q.At(row * kSize + d) * k.At((shared * kKeys + i) * kSize + d);
          }
          weights[i] = std::exp(0.75 * product + (changed ? bias[i] : 0));
          sum += weights[i];
        }
        for (int64_t d = 0; d < kValue; ++d) {
          double wanted = 0;
          for (int64_t i = 0; i < kKeys; ++i) {
            wanted += weights[i] / sum * v.At((shared * kKeys + i) * kValue + d);
          }
          EXPECT_NEAR(got[0].At(row * kValue + d), (changed ? 0.5 : 1) * wanted, 2e-6);
        }
      }
    }
  }
}

TEST(OnnxRareOperators, FlexAttentionRefusesGraphsThatChangeTheShape) {
  const HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 1, 2, 2});
  EXPECT_TRUE(FailsWith(
      ReadText(
          OneNodeText("op_type: 'FlexAttention' domain: 'ai.onnx.preview' attribute { name: "
                      "'score_mod' type: GRAPH g { name: 'm' node { op_type: 'Flatten' input: 's' "
                      "output: 'r' } input { name: 's' } output { name: 'r' } } } ",
                      {{"q", x}, {"k", x}, {"v", x}}, 1))
          .status(),
      "score_mod changes the type"));
}

TEST(OnnxRareOperators, BitCastKeepsBits) {
  const auto cast = [](const HostTensor& x, int to) {
    return ComputedNode(absl::StrCat("op_type: 'BitCast' ", IntAttribute("to", to)), {{"x", x}})[0];
  };
  const HostTensor one = cast(Singles({2}, {1, -0.0f}), 6);
  EXPECT_EQ(Values(one), std::vector<double>({1065353216, -2147483648.0}));
  EXPECT_EQ(Values(cast(Doubles({1}, {1}), 7)), std::vector<double>({4607182418800017408.0}));
  HostTensor half = HostTensor::Zeros(DType::kFloat16, {1});
  half.Set(0, -2);
  EXPECT_EQ(Values(cast(half, 4)), std::vector<double>({0xc000}));  // of uint16
  EXPECT_EQ(Values(cast(cast(half, 5), 10)), std::vector<double>({-2}));
  EXPECT_EQ(Values(cast(cast(half, 5), 16)), std::vector<double>({-2}));  // 0xc000 is -2 in both
  EXPECT_TRUE(FailsWith(
      ReadText(OneNodeText("op_type: 'BitCast' " + IntAttribute("to", 6), {{"x", half}}, 1))
          .status(),
      "from Float16 to Int32"));
}

TEST(OnnxRareOperators, LabelsAreReplacedByTheValueOfTheLastEqualKey) {
  const std::string node = "op_type: 'LabelEncoder' domain: 'ai.onnx.ml' ";
  const std::vector<HostTensor> whole =
      ComputedNode(node + IntsAttribute("keys_int64s", {3, int64_t{1} << 60, 3}) +
                       FloatsAttribute("values_floats", {0.5f, INFINITY, -1}),
                   {{"x", Int64s({3, (int64_t{1} << 60) + 1, int64_t{1} << 60})}});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(Values(whole[0]), std::vector<double>({-1, 0, INFINITY}));
  const std::vector<HostTensor> floats = ComputedNode(
      node + FloatsAttribute("keys_floats", {0.5f, NAN}) +
          IntsAttribute("values_int64s", {7, int64_t{1} << 60}) + IntAttribute("default_int64", -9),
      {{"x", Singles({1, 3}, {NAN, 0.25f, 0.5f})}});
  ASSERT_EQ(floats.size(), 1u);
  EXPECT_EQ(floats[0].shape(), Shape({1, 3}));
  EXPECT_EQ(floats[0].IntegerAt(0), int64_t{1} << 60);
  EXPECT_EQ(floats[0].IntegerAt(1), -9);
  EXPECT_EQ(floats[0].IntegerAt(2), 7);
  EXPECT_TRUE(FailsWith(
      ReadText(OneNodeText(node + "attribute { name: 'keys_strings' type: STRINGS strings: 'a' } " +
                               IntsAttribute("values_int64s", {1}),
                           {{"x", Int64s({3})}}, 1))
          .status(),
      "of strings"));
}

TEST(OnnxRareOperators, FeaturesAreSelectedScaledAndSummed) {
  const std::string domain = "domain: 'ai.onnx.ml' ";
  const HostTensor x = Singles({2, 3}, {1, 2, 3, -4, 5, -6});
  const auto computed = [&](const std::string& node, NamedInputs inputs) {
    return Values(ComputedNode(domain + node, std::move(inputs))[0]);
  };
  EXPECT_EQ(computed("op_type: 'ArrayFeatureExtractor' ", {{"x", x}, {"i", Int64s({2, 0})}}),
            std::vector<double>({3, 1, -6, -4}));
  EXPECT_EQ(computed("op_type: 'Binarizer' " + FloatAttribute("threshold", 2), {{"x", x}}),
            std::vector<double>({0, 0, 1, 0, 1, 0}));
  // A threshold between integers.
  EXPECT_EQ(computed("op_type: 'Binarizer' " + FloatAttribute("threshold", -0.5),
                     {{"x", Int64s({-1, 0, 1})}}),
            std::vector<double>({0, 1, 1}));
  EXPECT_EQ(computed("op_type: 'Scaler' " + FloatsAttribute("offset", {1}) +
                         FloatsAttribute("scale", {1, 10, 100}),
                     {{"x", x}}),
            std::vector<double>({0, 10, 200, -5, 40, -700}));
  EXPECT_EQ(computed("op_type: 'LinearRegressor' " + IntAttribute("targets", 2) +
                         FloatsAttribute("coefficients", {1, 1, 1, 1, -1, 0}) +
                         FloatsAttribute("intercepts", {0.5f, 0}),
                     {{"x", x}}),
            std::vector<double>({6.5, -1, -4.5, -9}));
  EXPECT_TRUE(FailsWith(ReadText(OneNodeText(domain + "op_type: 'LinearRegressor' " +
                                                 FloatsAttribute("coefficients", {1, 2}),
                                             {{"x", x}}, 1))
                            .status(),
                        "2 coefficients and 0 intercepts of 1 targets"));
}

// A tree whose nodes compare a feature in each way, with a NaN on either side.
TEST(OnnxRareOperators, TreesAreWalkedToTheirLeaves) {
  std::mt19937_64 random(3);
  constexpr int64_t kFeatures = 3, kNodes = 15, kTargets = 3, kSamples = 64;
  for (int aggregate = 0; aggregate < 4; ++aggregate) {
    std::vector<int64_t> feature, yes, no, yes_leaf, no_leaf, nan, target;
    std::vector<int> modes;
    std::vector<double> splits, weights, members;
    const auto pick = [&](int64_t below) { return static_cast<int64_t>(random() % below); };
    // A full binary tree of 15 nodes and 16 leaves; the second tree is its right side.
    for (int64_t i = 0; i < kNodes; ++i) {
      feature.push_back(pick(kFeatures));
      modes.push_back(static_cast<int>(pick(7)));
      splits.push_back(static_cast<double>(pick(5)));
      nan.push_back(pick(2));
      const bool last = 2 * i + 1 >= kNodes;
      yes.push_back(last ? 2 * i + 1 - kNodes : 2 * i + 1);
      no.push_back(last ? 2 * i + 2 - kNodes : 2 * i + 2);
      yes_leaf.push_back(last);
      no_leaf.push_back(last);
      if (modes.back() != 6) continue;
      for (int64_t m = pick(3); m >= 0; --m) members.push_back(static_cast<double>(pick(5)));
      members.push_back(NAN);
    }
    for (int64_t leaf = 0; leaf <= kNodes; ++leaf) {
      target.push_back(pick(kTargets - 1));  // nothing votes for the last one
      weights.push_back(static_cast<double>(pick(1000)) / 8);
    }
    HostTensor x = HostTensor::Zeros(DType::kFloat64, {kSamples, kFeatures});
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.Set(i, pick(9) == 0 ? NAN : static_cast<double>(pick(5)));
    }
    const std::vector<HostTensor> got = ComputedNode(
        absl::StrCat(
            "op_type: 'TreeEnsemble' domain: 'ai.onnx.ml' ",
            IntsAttribute("nodes_featureids", feature), IntsAttribute("tree_roots", {0, 2}),
            IntsAttribute("nodes_truenodeids", yes), IntsAttribute("nodes_falsenodeids", no),
            IntsAttribute("nodes_trueleafs", yes_leaf), IntsAttribute("nodes_falseleafs", no_leaf),
            IntsAttribute("nodes_missing_value_tracks_true", nan),
            IntsAttribute("leaf_targetids", target), IntAttribute("n_targets", kTargets),
            IntAttribute("aggregate_function", aggregate), TensorAttribute("nodes_modes", 2, modes),
            TensorAttribute("nodes_splits", 11, splits),
            TensorAttribute("leaf_weights", 11, weights),
            TensorAttribute("membership_values", 11, members)),
        {{"x", x}});
    ASSERT_EQ(got.size(), 1u);
    for (int64_t n = 0; n < kSamples; ++n) {
      constexpr double kMost = std::numeric_limits<double>::max();
      std::vector<double> wanted(kTargets, aggregate == 2 ? kMost : aggregate == 3 ? -kMost : 0);
      for (const int64_t root : {0, 2}) {
        int64_t at = root;
        for (bool leaf = false; !leaf;) {
          const size_t i = static_cast<size_t>(at);
          const double value = x.At(n * kFeatures + feature[i]), split = splits[i];
          bool in_set = false;
          size_t member = 0;
          for (size_t before = 0; before < i; ++before) {
            if (modes[before] != 6) continue;
            while (!std::isnan(members[member])) ++member;
            ++member;
          }
          for (; modes[i] == 6 && !std::isnan(members[member]); ++member) {
            in_set = in_set || value == members[member];
          }
          const bool holds[] = {value <= split, value<split, value >= split, value> split,
                                value == split, value != split, in_set};
          const bool side = holds[modes[i]] || (std::isnan(value) && nan[i] != 0);
          leaf = yes_leaf[i] != 0;
          at = side ? yes[i] : no[i];
        }
        double& sum = wanted[static_cast<size_t>(target[static_cast<size_t>(at)])];
        const double weight = weights[static_cast<size_t>(at)];
        if (aggregate < 2) sum += aggregate == 0 ? weight / 2 : weight;
        if (aggregate == 2) sum = std::min(sum, weight);
        if (aggregate == 3) sum = std::max(sum, weight);
      }
      for (int64_t t = 0; t < kTargets; ++t) {
        EXPECT_NEAR(got[0].At(n * kTargets + t), wanted[static_cast<size_t>(t)],
                    1e-12 * std::abs(wanted[static_cast<size_t>(t)]))
            << "aggregate " << aggregate << ", sample " << n;
      }
    }
  }
}

TEST(OnnxRareOperators, TreesThatDoNotEndAreRefused) {
  const std::string tree = absl::StrCat(
      "op_type: 'TreeEnsemble' domain: 'ai.onnx.ml' ", IntsAttribute("nodes_featureids", {0}),
      IntsAttribute("tree_roots", {0}), IntsAttribute("nodes_truenodeids", {0}),
      IntsAttribute("nodes_falsenodeids", {0}), IntsAttribute("nodes_trueleafs", {0}),
      IntsAttribute("nodes_falseleafs", {1}), IntsAttribute("leaf_targetids", {0}),
      TensorAttribute("nodes_modes", 2, std::vector<int>{0}),
      TensorAttribute("nodes_splits", 1, std::vector<float>{0}),
      TensorAttribute("leaf_weights", 1, std::vector<float>{1}));
  EXPECT_TRUE(FailsWith(ReadText(OneNodeText(tree, {{"x", Singles({1, 1}, {0})}}, 1)).status(),
                        "that do not end"));
}

// Regression: floats of any size were cast to modes, and the nodes were copied for each root.
TEST(OnnxRareOperators, NodesOfTreesAreIntegersThatAreReadOnce) {
  constexpr int64_t kNodes = 100'000;
  const auto status = [&](int64_t nodes, const std::string& modes, int64_t last_root) {
    const std::vector<int64_t> zeros(static_cast<size_t>(nodes), 0);
    const std::vector<int64_t> ones(static_cast<size_t>(nodes), 1);
    std::vector<int64_t> roots(static_cast<size_t>(nodes));
    std::iota(roots.begin(), roots.end(), int64_t{0});
    roots.back() = last_root;
    const std::string tree = absl::StrCat(
        "op_type: 'TreeEnsemble' domain: 'ai.onnx.ml' ", IntsAttribute("nodes_featureids", zeros),
        IntsAttribute("tree_roots", roots), IntsAttribute("nodes_truenodeids", zeros),
        IntsAttribute("nodes_falsenodeids", zeros), IntsAttribute("nodes_trueleafs", ones),
        IntsAttribute("nodes_falseleafs", ones), IntsAttribute("leaf_targetids", {0}), modes,
        TensorAttribute("nodes_splits", 1, std::vector<float>(static_cast<size_t>(nodes), 0)),
        TensorAttribute("leaf_weights", 1, std::vector<float>{1}));
    return ReadText(OneNodeText(tree, {{"x", Singles({1, 1}, {0})}}, 1)).status();
  };
  for (const float mode : {NAN, 1e30f, 0.0f}) {
    EXPECT_TRUE(FailsWith(status(1, TensorAttribute("nodes_modes", 1, std::vector<float>{mode}), 0),
                          "nodes_modes is Float32, expected integers"));
  }
  EXPECT_TRUE(FailsWith(status(1, TensorAttribute("nodes_modes", 2, std::vector<int>{7}), 0),
                        "do not describe trees"));
  const std::string modes =
      TensorAttribute("nodes_modes", 2, std::vector<int>(static_cast<size_t>(kNodes), 0));
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(FailsWith(status(kNodes, modes, kNodes), "root 100000 of 100000 nodes"));
  // 80 GB of copies took longer.
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2.5);
}

// N-grams of up to three elements, with repeated ones and two for one output.
TEST(OnnxRareOperators, NgramsAreCountedAtEachDistance) {
  std::mt19937_64 random(4);
  const std::vector<std::vector<int64_t>> pool = {{0}, {2}, {1, 2}, {0, 0}, {2, 1}, {1, 0, 1}};
  const std::vector<int64_t> outputs = {5, 0, 2, 5, 3, 1};
  constexpr int64_t kOutputs = 6, kRow = 9;
  const std::vector<float> weights = {1, 2, 3, 4, 5, 0.5f};
  for (const int64_t rows : {0, 3}) {  // 0: rank 1
    for (const int64_t skips : {0, 2, 9}) {
      for (const int64_t least : {1, 2}) {
        for (const std::string mode : {"TF", "IDF", "TFIDF"}) {
          SCOPED_TRACE(absl::StrCat(rows, " rows, ", skips, " skips, from ", least, ", ", mode));
          HostTensor x = HostTensor::Zeros(rows == 0 ? DType::kInt32 : DType::kInt64,
                                           rows == 0 ? Shape{kRow} : Shape{rows, kRow});
          for (int64_t i = 0; i < x.num_elements(); ++i) x.SetInteger(i, random() % 3);
          const std::vector<HostTensor> got = ComputedNode(
              absl::StrCat(
                  "op_type: 'TfIdfVectorizer' ", TextAttribute("mode", mode),
                  IntAttribute("min_gram_length", least), IntAttribute("max_gram_length", 3),
                  IntAttribute("max_skip_count", skips), IntsAttribute("ngram_counts", {0, 2, 8}),
                  IntsAttribute("ngram_indexes", outputs),
                  IntsAttribute("pool_int64s", {0, 2, 1, 2, 0, 0, 2, 1, 1, 0, 1}),
                  FloatsAttribute("weights", weights)),
              {{"x", x}});
          ASSERT_EQ(got.size(), 1u);
          ASSERT_EQ(got[0].shape(), rows == 0 ? Shape({kOutputs}) : Shape({rows, kOutputs}));
          for (int64_t row = 0; row < std::max<int64_t>(rows, 1); ++row) {
            std::vector<double> counts(kOutputs, 0);
            for (size_t g = 0; g < pool.size(); ++g) {
              const auto size = static_cast<int64_t>(pool[g].size());
              if (size < least) continue;
              for (int64_t d = 1; d <= (size == 1 ? 1 : skips + 1); ++d) {
                for (int64_t at = 0; at + (size - 1) * d < kRow; ++at) {
                  bool same = true;
                  for (int64_t k = 0; k < size; ++k) {
                    same = same &&
                           x.IntegerAt(row * kRow + at + k * d) == pool[g][static_cast<size_t>(k)];
                  }
                  counts[static_cast<size_t>(outputs[g])] += same;
                }
              }
            }
            for (size_t o = 0; o < counts.size(); ++o) {
              const double count = mode == "IDF" ? std::min(counts[o], 1.0) : counts[o];
              EXPECT_EQ(got[0].At(row * kOutputs + static_cast<int64_t>(o)),
                        mode == "TF" ? count : weights[o] * count);
            }
          }
        }
      }
    }
  }
}

// Regression: each n-gram of one output made a table for all outputs, which nothing counted.
TEST(OnnxRareOperators, TablesOfNgramsDoNotGrowWithTheOutputs) {
  constexpr int64_t kGrams = 1000, kLast = 3999;
  const auto text = [&](int64_t last) {
    std::vector<int64_t> pool(kGrams), outputs(kGrams, 0);
    std::iota(pool.begin(), pool.end(), int64_t{0});
    outputs.back() = last;
    return OneNodeText(
        absl::StrCat("op_type: 'TfIdfVectorizer' ", TextAttribute("mode", "TF"),
                     IntAttribute("max_gram_length", 1), IntsAttribute("ngram_counts", {0}),
                     IntsAttribute("ngram_indexes", outputs), IntsAttribute("pool_int64s", pool)),
        {{"x", Int64s({0, 5, 999, 998, 5, 999, 999})}}, 1);
  };
  const Graph graph = Value(ReadText(text(kLast)));
  int64_t bytes = 0;
  for (const auto& node : graph.nodes()) {
    if (node.constant != nullptr) bytes += node.constant->bytes();
  }
  EXPECT_LT(bytes, 100'000);
  const std::vector<HostTensor> got =
      Value(EvaluateGraph(graph, {{"x", Int64s({0, 5, 999, 998, 5, 999, 999})}}));
  ASSERT_EQ(got[0].num_elements(), kLast + 1);
  for (int64_t i = 0; i <= kLast; ++i) {
    EXPECT_EQ(got[0].At(i), i == 0 ? 4 : i == kLast ? 3 : 0) << i;
  }
  EXPECT_TRUE(FailsWith(ReadText(text(15'999'999)).status(),
                        "ngram_indexes has 15999999, expected less than 1048576"));
  OnnxReadOptions options;
  options.most_folded_bytes = 8 * kLast;
  EXPECT_TRUE(FailsWith(ReadText(text(kLast), options).status(), "take more than 31992 bytes"));
}

// Regression: they were cast to integers before their range was checked.
TEST(OnnxRareOperators, SizesOfSpectraThatAreNoNumbersAreRefusedByName) {
  struct Case {
    const char* type;
    std::vector<const char*> inputs;
    const char* message;
  };
  const Case cases[] = {
      {"MelWeightMatrix", {"nan", "16", "8000", "0", "4000"}, "num_mel_bins is nan"},
      {"MelWeightMatrix", {"1e30", "16", "8000", "0", "4000"}, "num_mel_bins is 1e+30"},
      {"MelWeightMatrix", {"4", "nan", "8000", "0", "4000"}, "dft_length is nan"},
      {"MelWeightMatrix", {"4", "-inf", "8000", "0", "4000"}, "dft_length is -inf"},
      {"MelWeightMatrix", {"1e9", "16", "8000", "0", "4000"}, "1000000000 bins of mels"},
      {"MelWeightMatrix", {"4", "16", "8000", "0", "inf"}, "from 0 to inf Hz"},
      {"MelWeightMatrix", {"4", "16", "8000", "nan", "4000"}, "from nan to 4000 Hz"},
      {"MelWeightMatrix", {"4", "16", "inf", "0", "4000"}, "at a sample rate of inf"},
      {"MelWeightMatrix", {"4", "16", "8000", "0", "1e38"}, "beyond half of the sample rate"},
      {"HannWindow", {"nan"}, "the size is nan"},
      {"HannWindow", {"1e30"}, "the size is 1e+30"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    std::string text = absl::StrCat("op_type: '", c.type, "' "), values;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      absl::StrAppend(&text, "input: 'i", i, "' ");
      absl::StrAppend(&values, "initializer { name: 'i", i,
                      "' data_type: 1 float_data: ", c.inputs[i], " } ");
    }
    EXPECT_TRUE(FailsWith(ReadText(OneNodeText(text, {}, 1, values)).status(), c.message));
  }
}

TEST(OnnxRareOperators, AnOptionalValueIsTheTensorThatIsGiven) {
  const HostTensor x = Singles({2}, {1, 2});
  std::string text = OneNodeText("op_type: 'OptionalGetElement' ", {{"x", x}}, 1,
                                 "node { op_type: 'OptionalHasElement' input: 'x' output: 'has' } "
                                 "node { op_type: 'OptionalHasElement' input: '' output: 'none' } "
                                 "output { name: 'has' } output { name: 'none' }");
  const std::string from = "type { tensor_type {";
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), "type { optional_type { elem_type { tensor_type {");
  text.replace(text.find("} } } }", at), 7, "} } } } } }");
  const absl::StatusOr<Graph> graph = ReadText(text);
  ASSERT_TRUE(IsOk(graph.status()));
  const std::vector<HostTensor> got = Value(EvaluateGraph(*graph, {{"x", x}}));
  EXPECT_EQ(Values(got[0]), std::vector<double>({1, 2}));
  EXPECT_EQ(Values(got[1]), std::vector<double>({1}));
  EXPECT_EQ(Values(got[2]), std::vector<double>({0}));
}

}  // namespace
}  // namespace ashlar::testing

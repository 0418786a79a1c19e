#include "opr/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "opr/base/host_value.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/softmax.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Computes attention by the operators that it replaces.
HostTensor ByProducts(const AttentionParam& param, const std::vector<HostTensor>& inputs) {
  MatrixMulParam transposed;
  transposed.transposeB = true;
  HostTensor scores = Evaluate(MatrixMul(transposed), {inputs[0], inputs[1]});
  HostTensor scaled = HostTensor::Zeros(DType::kFloat32, scores.shape());
  const int64_t queries = scores.shape()[2], keys = scores.shape()[3];
  for (int64_t i = 0; i < scores.num_elements(); ++i) {
    const int64_t query = i / keys % queries, key = i % keys;
    const bool hidden = param.causal && key > query + param.offset;
    scaled.Set(i, hidden ? -INFINITY : scores.At(i) * param.scale);
  }
  if (inputs.size() > 3) {
    scaled = Evaluate(Elemwise({ScalarFunction::kAdd}), {scaled, inputs[3]});
  }
  return Evaluate(MatrixMul(MatrixMulParam()), {Evaluate(Softmax({-1}), {scaled}), inputs[2]});
}

TEST(Attention, IsASoftmaxBetweenProducts) {
  ForSeeds(60, [&](int seed, Random& random) {
    const int64_t n = Pick(random, 1, 2), heads = Pick(random, 1, 3), depth = Pick(random, 1, 6);
    const int64_t queries = Pick(random, 1, 6), keys = queries + Pick(random, 0, 5);
    std::vector<HostTensor> inputs = {
        RandomTensor(random, Shape{n, heads, queries, depth}, -2, 2),
        RandomTensor(random, Shape{n, heads, keys, depth}, -2, 2),
        RandomTensor(random, Shape{n, heads, keys, Pick(random, 1, 5)}, -2, 2)};
    if (seed % 3 == 0) inputs.push_back(RandomTensor(random, Shape{heads, queries, keys}, -2, 2));
    const AttentionParam param{0.5, seed % 2 == 1, Pick(random, 0, keys - queries)};
    EXPECT_TRUE(Near(Evaluate(Attention(param), inputs), ByProducts(param, inputs), 1e-5));
  });
}

TEST(Attention, NeighbouringHeadsShareKeys) {
  Random random(4);
  const HostTensor q = RandomTensor(random, Shape{1, 4, 3, 5});
  const HostTensor k = RandomTensor(random, Shape{1, 2, 6, 5}),
                   v = RandomTensor(random, {1, 2, 6, 5});
  const auto repeated = [](const HostTensor& x) {
    HostTensor y = HostTensor::Zeros(DType::kFloat32, {1, 4, 6, 5});
    for (int64_t i = 0; i < y.num_elements(); ++i) y.Set(i, x.At(i / 60 * 30 + i % 30));
    return y;
  };
  EXPECT_TRUE(Near(Evaluate(Attention({1, false}), {q, k, v}),
                   Evaluate(Attention({1, false}), {q, repeated(k), repeated(v)}), 1e-6));
}

TEST(Attention, WhatSeesNothingIsZero) {
  Random random(5);
  const HostTensor q = RandomTensor(random, Shape{1, 1, 3, 2}),
                   k = RandomTensor(random, {1, 1, 1, 2});
  const HostTensor v = HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 1}, {7});
  EXPECT_TRUE(
      Near(Evaluate(Attention({1, true, -2}), {q, k, v}), std::vector<double>{0, 0, 7}, 1e-6));
}

TEST(Attention, CutsQueries) {
  const OwnedSite site{{{{DType::kFloat32, {2, 3, 8, 4}}},
                        {{DType::kFloat32, {2, 3, 9, 4}}},
                        {{DType::kFloat32, {2, 3, 9, 5}}},
                        {{DType::kFloat32, {8, 9}}}},
                       {{DType::kFloat32, {2, 3, 8, 5}}}};
  const Region part = {{1, 2}, {0, 3}, {2, 6}, {0, 5}};
  const Attention op({1, true, 3});
  const auto regions = op.InputRegions(part, site);
  ASSERT_TRUE(regions.has_value());
  EXPECT_EQ((*regions)[0], (Region{{1, 2}, {0, 3}, {2, 6}, {0, 4}}));
  EXPECT_EQ((*regions)[1], (Region{{1, 2}, {0, 3}, {0, 9}, {0, 4}}));
  EXPECT_EQ((*regions)[3], (Region{{2, 6}, {0, 9}}));
  // Query 2 becomes query 0, and sees the same keys.
  const auto replacement = op.AtRegion(part, *regions, site);
  EXPECT_EQ(static_cast<const Attention&>(*replacement->op).param().offset, 5);
}

TEST(Attention, RefusesWhatItCannotCompute) {
  const auto op = std::make_shared<const Attention>(AttentionParam{1, false});
  const Shape q{1, 4, 3, 8}, k{1, 2, 6, 8}, v{1, 2, 6, 5};
  ExpectRejected({{op, {q, k}, "2 inputs, expected 3 or 4"},
                  {op, {{4, 3, 8}, k, v}, "queries is Float32{4,3,8}, expected rank 4"},
                  {op, {q, {1, 3, 6, 8}, {1, 3, 6, 5}}, "keys {1,3,6,8}"},
                  {op, {q, {1, 2, 6, 7}, v}, "keys {1,2,6,7}"},
                  {op, {q, k, {1, 2, 5, 5}}, "values {1,2,5,5}"},
                  {op, {q, k, v, {4, 6}}, "does not broadcast"},
                  {op, {q, k, v, {2, 4, 3, 6}}, "does not broadcast"},
                  {std::make_shared<const Attention>(AttentionParam{1, true, int64_t{1} << 62}),
                   {q, k, v},
                   "offset is 4611686018427387904"}});
}

}  // namespace
}  // namespace ashlar::testing

// Compares LinearAttention with its recurrence in doubles, head by head.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/serialization/onnx/import/computed_node.h"

namespace ashlar::testing {
namespace {

struct Sizes {
  int64_t images, length, heads, key_heads, key, value;  // heads of queries; sizes of heads
};

// The inputs; a tensor of rank 0 is absent.
struct Given {
  HostTensor query, key, value, state, decay, beta;
};

struct Expected {
  std::vector<double> y, state;
};

Expected Recurrence(const Sizes& s, const Given& given, double scale) {
  const int64_t in_group = s.heads / s.key_heads;
  const bool decays = given.decay.shape().rank() > 0, corrects = given.beta.shape().rank() > 0;
  const int64_t decays_of_head = decays ? given.decay.shape()[2] / s.key_heads : 0;
  Expected result;
  result.y.assign(static_cast<size_t>(s.images * s.length * s.heads * s.value), 0);
  for (int64_t n = 0; n < s.images; ++n) {
    for (int64_t h = 0; h < s.key_heads; ++h) {
      std::vector<double> state(static_cast<size_t>(s.key * s.value), 0);
      for (size_t i = 0; given.state.shape().rank() > 0 && i < state.size(); ++i) {
        state[i] =
            given.state.At((n * s.key_heads + h) * s.key * s.value + static_cast<int64_t>(i));
      }
      const auto at = [&](int64_t k, int64_t v) -> double& {
        return state[static_cast<size_t>(k * s.value + v)];
      };
      for (int64_t t = 0; t < s.length; ++t) {
        const int64_t place = n * s.length + t, head = place * s.key_heads + h;
        const auto key = [&](int64_t k) { return given.key.At(head * s.key + k); };
        for (int64_t k = 0; decays && k < s.key; ++k) {
          const double log = given.decay.At(head * decays_of_head + (decays_of_head > 1 ? k : 0));
          for (int64_t v = 0; v < s.value; ++v) at(k, v) *= std::exp(log);
        }
        for (int64_t v = 0; v < s.value; ++v) {
          double added = given.value.At(head * s.value + v);
          if (corrects) {
            for (int64_t k = 0; k < s.key; ++k) added -= at(k, v) * key(k);
            added *= given.beta.At(given.beta.shape()[2] == 1 ? place : head);
          }
          for (int64_t k = 0; k < s.key; ++k) at(k, v) += key(k) * added;
        }
        for (int64_t g = 0; g < in_group; ++g) {
          const int64_t query = place * s.heads + h * in_group + g;
          for (int64_t v = 0; v < s.value; ++v) {
            double sum = 0;
            for (int64_t k = 0; k < s.key; ++k) sum += given.query.At(query * s.key + k) * at(k, v);
            result.y[static_cast<size_t>(query * s.value + v)] = scale * sum;
          }
        }
      }
      result.state.insert(result.state.end(), state.begin(), state.end());
    }
  }
  return result;
}

void ExpectNear(const HostTensor& got, const std::vector<double>& want) {
  ASSERT_EQ(got.num_elements(), static_cast<int64_t>(want.size()));
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    ASSERT_NEAR(got.At(i), want[static_cast<size_t>(i)], 2e-5) << i;
  }
}

TEST(OnnxLinearAttention, IsItsRecurrenceHeadByHead) {
  const Sizes all[] = {{1, 5, 1, 1, 4, 3},
                       {2, 7, 3, 3, 4, 5},
                       {2, 4, 6, 2, 3, 4},
                       {1, 6, 4, 1, 5, 2},
                       {3, 1, 4, 2, 8, 8}};
  std::mt19937_64 random(1);
  for (const Sizes& s : all) {
    for (const char* const rule : {"linear", "gated", "delta", "gated_delta"}) {
      for (const bool with_state : {false, true}) {
        for (const bool by_head : {false, true}) {  // decays and rates
          SCOPED_TRACE(absl::StrCat(rule, ", ", s.heads, " heads of ", s.key, " for ", s.key_heads,
                                    " of ", s.value, with_state ? ", a state" : "",
                                    by_head ? ", by head" : ""));
          const std::string name = rule;
          const auto tensor = [&](int64_t size, double low, double high) {
            return RandomTensor(random, DType::kFloat32, {s.images, s.length, size}, low, high);
          };
          Given given = {
              tensor(s.heads * s.key, -1, 1),         tensor(s.key_heads * s.key, -1, 1),
              tensor(s.key_heads * s.value, -1, 1),   HostTensor::Zeros(DType::kFloat32, {}),
              HostTensor::Zeros(DType::kFloat32, {}), HostTensor::Zeros(DType::kFloat32, {})};
          NamedInputs inputs = {{"q", given.query}, {"k", given.key}, {"v", given.value}};
          if (with_state) {
            given.state = RandomTensor(random, DType::kFloat32,
                                       {s.images, s.key_heads, s.key, s.value}, -1, 1);
          }
          inputs.emplace_back(with_state ? "state" : "", given.state);
          if (name == "gated" || name == "gated_delta") {
            given.decay = tensor(s.key_heads * (by_head ? 1 : s.key), -1, 0);
          }
          inputs.emplace_back(given.decay.shape().rank() > 0 ? "decay" : "", given.decay);
          if (name == "delta" || name == "gated_delta") {
            given.beta = tensor(by_head ? s.key_heads : 1, 0, 1);
          }
          inputs.emplace_back(given.beta.shape().rank() > 0 ? "beta" : "", given.beta);
          const double scale = by_head ? 0.75 : 1 / std::sqrt(static_cast<double>(s.key));
          const std::vector<HostTensor> got = ComputedNode(
              absl::StrCat("op_type: 'LinearAttention' ", IntAttribute("q_num_heads", s.heads),
                           IntAttribute("kv_num_heads", s.key_heads),
                           "attribute { name: 'update_rule' type: STRING s: '", rule, "' } ",
                           by_head ? "attribute { name: 'scale' type: FLOAT f: 0.75 } " : ""),
              inputs, 2);
          ASSERT_EQ(got.size(), 2u);
          const Expected want = Recurrence(s, given, scale);
          EXPECT_EQ(got[0].shape(), Shape({s.images, s.length, s.heads * s.value}));
          EXPECT_EQ(got[1].shape(), Shape({s.images, s.key_heads, s.key, s.value}));
          ExpectNear(got[0], want.y);
          ExpectNear(got[1], want.state);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::testing

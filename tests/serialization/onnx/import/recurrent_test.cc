// Compares ONNX's GRU and RNN with their formulas, step by step.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

struct Layer {
  bool gru = false, reset_behind = false;
  int64_t directions = 1, steps = 1, batch = 1, inputs = 1, hidden = 1;
  bool reverse = false;  // of one direction
  HostTensor x, w, r, b, h;

  int64_t gates() const { return gru ? 3 : 1; }
};

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

// Returns Y [T, D, N, H] and Y_h [D, N, H].
std::pair<std::vector<double>, std::vector<double>> ByHand(const Layer& l) {
  std::vector<double> all(static_cast<size_t>(l.steps * l.directions * l.batch * l.hidden)), last;
  const int64_t rows = l.gates() * l.hidden;
  for (int64_t d = 0; d < l.directions; ++d) {
    for (int64_t n = 0; n < l.batch; ++n) {
      std::vector<double> h;
      for (int64_t i = 0; i < l.hidden; ++i) {
        h.push_back(l.h.At((d * l.batch + n) * l.hidden + i));
      }
      for (int64_t step = 0; step < l.steps; ++step) {
        const int64_t t = l.reverse || d == 1 ? l.steps - 1 - step : step;
        const auto from_x = [&](int64_t row) {
          double sum = l.b.At(d * 2 * rows + row);
          for (int64_t i = 0; i < l.inputs; ++i) {
            sum +=
                l.x.At((t * l.batch + n) * l.inputs + i) * l.w.At((d * rows + row) * l.inputs + i);
          }
          return sum;
        };
        const auto from_h = [&](int64_t row, const std::vector<double>& state) {
          double sum = l.b.At((d * 2 + 1) * rows + row);
          for (int64_t i = 0; i < l.hidden; ++i) {
            sum += state[static_cast<size_t>(i)] * l.r.At((d * rows + row) * l.hidden + i);
          }
          return sum;
        };
        std::vector<double> next, reset, kept;
        for (int64_t i = 0; l.gru && i < l.hidden; ++i) {
          reset.push_back(SigmoidOf(from_x(l.hidden + i) + from_h(l.hidden + i, h)));
          kept.push_back(reset.back() * h[static_cast<size_t>(i)]);
        }
        for (int64_t i = 0; i < l.hidden; ++i) {
          const auto at = static_cast<size_t>(i);
          if (!l.gru) {
            next.push_back(std::tanh(from_x(i) + from_h(i, h)));
            continue;
          }
          const double z = SigmoidOf(from_x(i) + from_h(i, h));
          const int64_t row = 2 * l.hidden + i;
          const double fresh = std::tanh(
              from_x(row) + (l.reset_behind ? reset[at] * from_h(row, h) : from_h(row, kept)));
          next.push_back((1 - z) * fresh + z * h[at]);
        }
        h = next;
        for (int64_t i = 0; i < l.hidden; ++i) {
          const int64_t at = ((t * l.directions + d) * l.batch + n) * l.hidden + i;
          all[static_cast<size_t>(at)] = h[static_cast<size_t>(i)];
        }
      }
      last.insert(last.end(), h.begin(), h.end());
    }
  }
  return {all, last};
}

std::string TextOf(const Layer& l, const std::string& activation) {
  std::string inputs;
  for (const auto& [name, tensor] :
       {std::pair("x", &l.x), {"w", &l.w}, {"r", &l.r}, {"b", &l.b}, {"h", &l.h}}) {
    absl::StrAppend(&inputs, "input ", ValueText(name, tensor->shape()));
  }
  const char* const direction = l.directions == 2 ? "bidirectional"
                                : l.reverse       ? "reverse"
                                                  : "forward";
  const std::string activations =
      activation.empty() ? ""
                         : absl::StrCat("attribute { name: 'activations' type: STRINGS strings: '",
                                        activation, "' } ");
  return absl::StrCat(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'g' ", inputs, "node { op_type: '",
      l.gru ? "GRU" : "RNN", "' input: ['x', 'w', 'r', 'b', '', 'h'] output: ['y', 'last'] ",
      activations, "attribute { name: 'direction' type: STRING s: '", direction, "' } ",
      l.reset_behind ? "attribute { name: 'linear_before_reset' type: INT i: 1 } " : "",
      "attribute { name: 'hidden_size' type: INT i: ", l.hidden,
      " } } output { name: 'y' } output { name: 'last' } }");
}

Layer RandomLayer(std::mt19937_64& random, int seed) {
  const auto draw = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  Layer l;
  l.gru = seed % 3 != 0;
  l.reset_behind = seed % 3 == 1;
  l.directions = draw(2);
  l.reverse = l.directions == 1 && seed % 2 == 0;
  l.steps = draw(4);
  l.batch = draw(3);
  l.inputs = draw(4);
  l.hidden = draw(4);
  const int64_t rows = l.gates() * l.hidden;
  l.x = RandomTensor(random, {l.steps, l.batch, l.inputs});
  l.w = RandomTensor(random, {l.directions, rows, l.inputs});
  l.r = RandomTensor(random, {l.directions, rows, l.hidden});
  l.b = RandomTensor(random, {l.directions, 2 * rows});
  l.h = RandomTensor(random, {l.directions, l.batch, l.hidden});
  return l;
}

TEST(OnnxRecurrent, LayersAreTheirFormulas) {
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Layer l = RandomLayer(random, seed);
    const Graph graph = Value(ReadText(TextOf(l, "")));
    const std::vector<HostTensor> outputs =
        Value(EvaluateGraph(graph, {{"x", l.x}, {"w", l.w}, {"r", l.r}, {"b", l.b}, {"h", l.h}}));
    const auto [all, last] = ByHand(l);
    EXPECT_EQ(outputs[0].shape(), (Shape{l.steps, l.directions, l.batch, l.hidden}));
    EXPECT_EQ(outputs[1].shape(), (Shape{l.directions, l.batch, l.hidden}));
    EXPECT_TRUE(Near(outputs[0], all, 1e-5));
    EXPECT_TRUE(Near(outputs[1], last, 1e-5));
  }
}

TEST(OnnxRecurrent, WhatDoesNotFitOrIsNotThereIsSaid) {
  std::mt19937_64 random(1);
  Layer l = RandomLayer(random, 1);
  EXPECT_TRUE(FailsWith(ReadText(TextOf(l, "HardSigmoid")).status(), "activation 'HardSigmoid'"));
  l.b = HostTensor::Zeros(DType::kFloat32, {l.directions, 1});
  EXPECT_TRUE(FailsWith(ReadText(TextOf(l, "")).status(), "B is {"));
}

}  // namespace
}  // namespace ashlar::testing

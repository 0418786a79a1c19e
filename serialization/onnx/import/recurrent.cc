// Imports recurrent layers: LSTM as an operator; GRU, RNN and LSTM with peepholes are
// unrolled, step by step, into matrix products and scalar functions.
#include <algorithm>
#include <functional>

#include "opr/concat.h"
#include "opr/lstm.h"
#include "opr/matrix_mul.h"
#include "opr/split.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
constexpr int kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kH = 5, kC = 6, kPeepholes = 7;
constexpr int64_t kMostSteps = 4096;  // limit on unrolled steps

OnnxVar Zeros(OnnxNode& node, const Shape& shape) {
  std::optional<HostTensor> zeros = node.NewTensor(node.dtype(node.input(kX)), shape.dims());
  return zeros ? node.Constant(*std::move(zeros)) : kNoOnnxVar;
}

// The inputs shared by the layers: x [T, N, I], and for each direction:
// - the weights of x [D, GH, I] and of the state [D, GH, H];
// - the biases of both [D, 2GH];
// - the state before the first step [D, N, H].
struct Layer {
  LstmDirection direction = LstmDirection::kForward;
  bool batch_first = false;
  int64_t steps = 0, batch = 0, directions = 1, hidden = 0;
  OnnxVar x = kNoOnnxVar, w = kNoOnnxVar, r = kNoOnnxVar, b = kNoOnnxVar, h = kNoOnnxVar;

  bool IsReverse(int64_t d) const { return direction == LstmDirection::kReverse || d == 1; }
};

// Returns the state in input i, or zeros.
OnnxVar StateOf(OnnxNode& node, const Layer& layer, int i) {
  if (!node.has(i)) return Zeros(node, {layer.directions, layer.batch, layer.hidden});
  return layer.batch_first ? node.Permuted(node.input(i), {1, 0, 2}) : node.input(i);
}

// Reports an error if the sizes do not fit.
Layer LayerOf(OnnxNode& node, int64_t gates) {
  node.Ignore({"hidden_size", "output_sequence"});
  Layer layer;
  layer.direction = OnnxNamed<LstmDirection>(node, "direction", "forward",
                                             {{"forward", LstmDirection::kForward},
                                              {"reverse", LstmDirection::kReverse},
                                              {"bidirectional", LstmDirection::kBidirectional}});
  layer.batch_first = node.Int("layout", 0) != 0;
  for (const char* other : {"activation_alpha", "activation_beta", "clip"}) {
    if (!node.has_attribute(other)) continue;
    node.Unsupported(absl::StrCat("attribute '", other, "'"));
    return layer;
  }
  layer.x = node.input(kX);
  layer.w = node.input(kW);
  layer.r = node.input(kR);
  if (node.rank(layer.x) != 3 || node.rank(layer.w) != 3 || node.rank(layer.r) != 3) {
    node.Invalid("expected tensors of rank 3");
    return layer;
  }
  if (layer.batch_first) layer.x = node.Permuted(layer.x, {1, 0, 2});
  if (!node.ok()) return layer;
  const Shape& x = node.shape(layer.x);
  layer.steps = x[0];
  layer.batch = x[1];
  layer.directions = layer.direction == LstmDirection::kBidirectional ? 2 : 1;
  layer.hidden = node.shape(layer.r)[2];
  const int64_t rows = gates * layer.hidden;
  layer.b = node.has(kB) ? node.input(kB) : Zeros(node, {layer.directions, 2 * rows});
  layer.h = StateOf(node, layer, kH);
  const struct {
    const char* name;
    OnnxVar var;
    Shape shape;
  } kExpected[] = {{"W", layer.w, {layer.directions, rows, x[2]}},
                   {"R", layer.r, {layer.directions, rows, layer.hidden}},
                   {"B", layer.b, {layer.directions, 2 * rows}},
                   {"initial_h", layer.h, {layer.directions, layer.batch, layer.hidden}}};
  for (const auto& row : kExpected) {
    if (!node.ok() || node.shape(row.var) == row.shape) continue;
    node.Invalid(absl::StrCat(row.name, " is ", node.shape(row.var).ToString(), ", expected ",
                              row.shape.ToString()));
  }
  if (node.has(kLengths)) {
    for (const int64_t length : node.KnownInts(kLengths, "sequence_lens")) {
      if (length != layer.steps) node.Unsupported("sequences of different lengths");
    }
  }
  return layer;
}

// Returns Y and the states after the last step, in the layout of the node.
OnnxVars InOrder(OnnxNode& node, const Layer& layer, OnnxVars outputs) {
  if (!node.ok() || !layer.batch_first) return outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = node.Permuted(
        outputs[i], i == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2});
  }
  return outputs;
}

OnnxVars Pieces(OnnxNode& node, OnnxVar x, int axis, std::vector<int64_t> sizes) {
  if (sizes.size() == 1 || !node.ok()) return OnnxVars(sizes.size(), x);
  return node.AddOperator(std::make_shared<const Split>(SplitParam{axis, std::move(sizes)}), {x});
}

OnnxVar TimesTransposed(OnnxNode& node, OnnxVar a, OnnxVar b) {
  MatrixMulParam param;
  param.transposeB = true;
  return node.Add<MatrixMul>(param, {a, b});
}

// Computes the state after a step in one direction, from the state before it and the step's x W +
// b.
using Step = std::function<OnnxVar(OnnxVar projected, OnnxVar h)>;
// Builds the step from the state's weights [GH, H] and biases [1, GH]; it may add these to the
// biases of x.
using StepMaker = std::function<Step(OnnxVar r, OnnxVar state_bias, OnnxVar& bias)>;

OnnxVars Unrolled(OnnxNode& node, const Layer& layer, int64_t gates, const StepMaker& make) {
  if (!node.ok()) return kNoOnnxVar;
  if (layer.steps < 1 || layer.steps > kMostSteps) {
    return node.Unsupported(absl::StrCat(layer.steps, " steps, expected 1 to ", kMostSteps));
  }
  const int64_t rows = gates * layer.hidden, inputs = node.shape(layer.x)[2];
  const auto by_direction = [&](OnnxVar var) {
    return Pieces(node, var, 0, std::vector<int64_t>(layer.directions, 1));
  };
  const OnnxVars w = by_direction(layer.w), r = by_direction(layer.r), b = by_direction(layer.b),
                 h0 = by_direction(layer.h);
  const OnnxVar x = node.Reshaped(layer.x, {layer.steps * layer.batch, inputs});
  std::vector<std::vector<OnnxVar>> by_step(static_cast<size_t>(layer.steps));
  std::vector<OnnxVar> last;
  for (int64_t d = 0; d < layer.directions && node.ok(); ++d) {
    const OnnxVars biases = Pieces(node, node.Reshaped(b[d], {1, 2 * rows}), 1, {rows, rows});
    OnnxVar bias = biases[0];
    const Step step = make(node.Reshaped(r[d], {rows, layer.hidden}), biases[1], bias);
    // Computes all steps at once.
    const OnnxVar all =
        node.Sum(TimesTransposed(node, x, node.Reshaped(w[d], {rows, inputs})), bias);
    const OnnxVars projected = Pieces(node, all, 0, std::vector<int64_t>(layer.steps, layer.batch));
    OnnxVar h = node.Reshaped(h0[d], {layer.batch, layer.hidden});
    for (int64_t i = 0; i < layer.steps && node.ok(); ++i) {
      const int64_t t = layer.IsReverse(d) ? layer.steps - 1 - i : i;
      h = step(projected[t], h);
      by_step[t].push_back(node.Reshaped(h, {1, 1, layer.batch, layer.hidden}));
    }
    last.push_back(node.Reshaped(h, {1, layer.batch, layer.hidden}));
  }
  if (!node.ok()) return kNoOnnxVar;
  std::vector<OnnxVar> steps;
  for (std::vector<OnnxVar>& directions : by_step) {
    steps.push_back(directions.size() == 1 ? directions[0]
                                           : node.Add<Concat>({1}, std::move(directions)));
  }
  const auto joined = [&](std::vector<OnnxVar> vars) {
    return vars.size() == 1 ? vars[0] : node.Add<Concat>({0}, std::move(vars));
  };
  return InOrder(node, layer, {joined(std::move(steps)), joined(std::move(last))});
}

// The gates are i, o, f and c; i, f and o also see the cell, by weights [D, 3H] in the order i, o,
// f.
OnnxVars LstmWithPeepholes(OnnxNode& node, const Layer& layer) {
  const int64_t hidden = layer.hidden;
  const OnnxVar weights = node.input(kPeepholes), start = StateOf(node, layer, kC);
  if (!node.ok()) return kNoOnnxVar;
  if (node.shape(weights) != Shape({layer.directions, 3 * hidden})) {
    return node.Invalid(absl::StrCat("P is ", node.shape(weights).ToString(), ", expected ",
                                     Shape({layer.directions, 3 * hidden}).ToString()));
  }
  const std::vector<int64_t> by_direction(static_cast<size_t>(layer.directions), 1);
  const OnnxVars peeps = Pieces(node, weights, 0, by_direction);
  const OnnxVars starts = Pieces(node, start, 0, by_direction);
  std::vector<OnnxVar> cells;  // by direction; steps change them
  cells.reserve(by_direction.size());
  OnnxVars outputs =
      Unrolled(node, layer, 4, [&](OnnxVar r, OnnxVar state_bias, OnnxVar& bias) -> Step {
        const size_t d = cells.size();
        bias = node.Sum(bias, state_bias);
        const OnnxVars p = Pieces(node, peeps[d], 1, {hidden, hidden, hidden});
        cells.push_back(node.Reshaped(starts[d], {layer.batch, hidden}));
        return [&, r, d, p](OnnxVar projected, OnnxVar h) {
          const OnnxVars gates = Pieces(node, node.Sum(projected, TimesTransposed(node, h, r)), 1,
                                        {hidden, hidden, hidden, hidden});
          OnnxVar& cell = cells[d];
          const auto gate = [&](size_t at, size_t peep) {
            return node.Function(F::kSigmoid, {node.Sum(gates[at], node.Product(p[peep], cell))});
          };
          const OnnxVar in = gate(0, 0), forget = gate(2, 2);
          cell = node.Sum(node.Product(forget, cell),
                          node.Product(in, node.Function(F::kTanh, {gates[3]})));
          const OnnxVar out = gate(1, 1);
          return node.Product(out, node.Function(F::kTanh, {cell}));
        };
      });
  if (!node.ok()) return kNoOnnxVar;
  for (OnnxVar& cell : cells) cell = node.Reshaped(cell, {1, layer.batch, hidden});
  const OnnxVar last = cells.size() == 1 ? cells[0] : node.Add<Concat>({0}, cells);
  outputs.push_back(layer.batch_first ? node.Permuted(last, {1, 0, 2}) : last);
  return outputs;
}

OnnxVars LstmOf(OnnxNode& node) {
  const std::vector<std::string> activations = node.Texts("activations");
  for (size_t i = 0; i < activations.size(); ++i) {
    if (activations[i] == (i % 3 == 0 ? "Sigmoid" : "Tanh")) continue;
    return node.Unsupported(absl::StrCat("activation '", activations[i].substr(0, 64), "'"));
  }
  if (node.Int("input_forget", 0) != 0) return node.Unsupported("input_forget");
  const Layer layer = LayerOf(node, 4);
  if (!node.ok()) return kNoOnnxVar;
  if (node.has(kPeepholes)) return LstmWithPeepholes(node, layer);
  const LSTMParam param = {layer.direction};
  return InOrder(
      node, layer,
      node.AddOperator(std::make_shared<const LSTM>(param),
                       {layer.x, layer.w, layer.r, layer.b, layer.h, StateOf(node, layer, kC)}));
}

// The gates are z, r and h.
OnnxVars GruOf(OnnxNode& node) {
  const std::vector<std::string> activations = node.Texts("activations");
  for (size_t i = 0; i < activations.size(); ++i) {
    if (activations[i] == (i % 2 == 0 ? "Sigmoid" : "Tanh")) continue;
    return node.Unsupported(absl::StrCat("activation '", activations[i].substr(0, 64), "'"));
  }
  const bool reset_behind = node.Int("linear_before_reset", 0) != 0;
  const Layer layer = LayerOf(node, 3);
  const int64_t hidden = layer.hidden;
  const auto updated = [&node](OnnxVar z, OnnxVar fresh, OnnxVar h) {
    fresh = node.Function(F::kTanh, {fresh});
    return node.Sum(fresh, node.Product(z, node.Difference(h, fresh)));
  };
  const auto gates = [&node](OnnxVar a, OnnxVar b) {
    return node.Function(F::kSigmoid, {node.Sum(a, b)});
  };
  return Unrolled(node, layer, 3, [&](OnnxVar r, OnnxVar state_bias, OnnxVar& bias) -> Step {
    if (reset_behind) {
      // r (h R + b): one product for all gates.
      return [&, r, state_bias](OnnxVar projected, OnnxVar h) {
        const OnnxVar state = node.Sum(TimesTransposed(node, h, r), state_bias);
        const OnnxVars from_x = Pieces(node, projected, 1, {hidden, hidden, hidden});
        const OnnxVars from_h = Pieces(node, state, 1, {hidden, hidden, hidden});
        const OnnxVar reset = gates(from_x[1], from_h[1]);
        return updated(gates(from_x[0], from_h[0]),
                       node.Sum(from_x[2], node.Product(reset, from_h[2])), h);
      };
    }
    bias = node.Sum(bias, state_bias);
    const OnnxVars weights = Pieces(node, r, 0, {hidden, hidden, hidden});
    return [&, weights](OnnxVar projected, OnnxVar h) {
      const OnnxVars from_x = Pieces(node, projected, 1, {hidden, hidden, hidden});
      const OnnxVar z = gates(from_x[0], TimesTransposed(node, h, weights[0]));
      const OnnxVar reset = gates(from_x[1], TimesTransposed(node, h, weights[1]));
      const OnnxVar kept = TimesTransposed(node, node.Product(reset, h), weights[2]);
      return updated(z, node.Sum(from_x[2], kept), h);
    };
  });
}

OnnxVars RnnOf(OnnxNode& node) {
  const std::vector<std::string> activations = node.Texts("activations");
  const std::string name = activations.empty() ? "Tanh" : activations[0];
  static constexpr std::pair<const char*, F> kFunctions[] = {
      {"Tanh", F::kTanh}, {"Relu", F::kRelu}, {"Sigmoid", F::kSigmoid}};
  const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                         [&](const auto& row) { return name == row.first; });
  const bool equal = std::all_of(activations.begin(), activations.end(),
                                 [&](const std::string& other) { return other == name; });
  if (found == std::end(kFunctions) || !equal) {
    return node.Unsupported(absl::StrCat("activation '", name.substr(0, 64), "'"));
  }
  return Unrolled(
      node, LayerOf(node, 1), 1, [&](OnnxVar r, OnnxVar state_bias, OnnxVar& bias) -> Step {
        bias = node.Sum(bias, state_bias);
        return [&, r](OnnxVar projected, OnnxVar h) {
          return node.Function(found->second, {node.Sum(projected, TimesTransposed(node, h, r))});
        };
      });
}

constexpr OnnxRow kRecurrentRows[] = {
    OnnxRow("GRU", 3, 6, GruOf).Since(7).Limits("with its own activations"),
    OnnxRow("LSTM", 3, 8, LstmOf).Since(7).Limits("with its own activations"),
    OnnxRow("RNN", 3, 6, RnnOf).Since(7).Limits("activations Tanh, Relu, Sigmoid"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxRecurrentRows() { return kRecurrentRows; }

}  // namespace ashlar

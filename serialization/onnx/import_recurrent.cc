// Recurrent layers of ONNX: LSTM.
#include "opr/lstm.h"
#include "serialization/onnx/import_names.h"
#include "serialization/onnx/import_table.h"

namespace ashlar {
namespace {

constexpr int kX = 0, kW = 1, kR = 2, kB = 3, kLengths = 4, kH = 5, kC = 6, kPeepholes = 7;

OnnxVar Zeros(OnnxNode& node, const Shape& shape) {
  std::optional<HostTensor> zeros = node.NewTensor(DType::kFloat32, shape.dims());
  return zeros ? node.Constant(*std::move(zeros)) : kNoOnnxVar;
}

OnnxVars LstmOf(OnnxNode& node) {
  node.Ignore({"hidden_size", "output_sequence"});
  LSTMParam param;
  param.direction = OnnxNamed<LstmDirection>(node, "direction", "forward",
                                             {{"forward", LstmDirection::kForward},
                                              {"reverse", LstmDirection::kReverse},
                                              {"bidirectional", LstmDirection::kBidirectional}});
  for (const char* other : {"activations", "activation_alpha", "activation_beta", "clip"}) {
    if (node.has_attribute(other)) return node.Unsupported(absl::StrCat("attribute '", other, "'"));
  }
  if (node.Int("input_forget", 0) != 0) return node.Unsupported("input_forget");
  if (node.has(kPeepholes)) return node.Unsupported("peepholes");
  const bool batch_first = node.Int("layout", 0) != 0;
  OnnxVar x = node.input(kX);
  const OnnxVar w = node.input(kW), r = node.input(kR);
  if (node.rank(x) != 3 || node.rank(w) != 3 || node.rank(r) != 3) {
    return node.Invalid("expected tensors of rank 3");
  }
  if (batch_first) x = node.Permuted(x, {1, 0, 2});
  if (!node.ok()) return kNoOnnxVar;
  const int64_t steps = node.shape(x)[0], batch = node.shape(x)[1];
  const int64_t directions = node.shape(w)[0], hidden = node.shape(r)[2];
  if (node.has(kLengths)) {
    for (const int64_t length : node.KnownInts(kLengths, "sequence_lens")) {
      if (length != steps) return node.Unsupported("sequences of different lengths");
    }
  }
  const auto state = [&](int i) {
    if (!node.has(i)) return Zeros(node, {directions, batch, hidden});
    return batch_first ? node.Permuted(node.input(i), {1, 0, 2}) : node.input(i);
  };
  const OnnxVar b = node.has(kB) ? node.input(kB) : Zeros(node, {directions, 8 * hidden});
  OnnxVars outputs =
      node.AddOperator(std::make_shared<const LSTM>(param), {x, w, r, b, state(kH), state(kC)});
  if (!node.ok() || !batch_first) return outputs;
  return {node.Permuted(outputs[0], {2, 0, 1, 3}), node.Permuted(outputs[1], {1, 0, 2}),
          node.Permuted(outputs[2], {1, 0, 2})};
}

constexpr OnnxRow kRecurrentRows[] = {
    OnnxRow("LSTM", 3, 8, LstmOf).Since(7).Limits("with its own activations, without peepholes"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxRecurrentRows() { return kRecurrentRows; }

}  // namespace ashlar

// Imports RotaryEmbedding: rotates pairs of elements by the angle of their position.
#include "opr/concat.h"
#include "opr/gather.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

// Returns elements begin, begin + step, ... below end of the last axis.
OnnxVar LastAxis(OnnxNode& node, OnnxVar x, int64_t begin, int64_t end, int64_t step) {
  return node.Add<Subtensor>(
      {{-1}, {1}, {1}, {1}, {0}},
      {x, node.IntVector({begin}), node.IntVector({end}), node.IntVector({step})});
}

// Returns the cosines or sines in input i as [N, 1, length, pairs], or with 1 for N: by position,
// or selected by the positions in input 3.
OnnxVar AnglesOf(OnnxNode& node, int i) {
  const OnnxVar table =
      node.has(3) ? node.Add<Gather>({0}, {node.input(i), node.input(3)}) : node.input(i);
  const Shape s = node.shape(table);
  if (s.rank() == 2) return node.Reshaped(table, {1, 1, s[0], s[1]});
  if (s.rank() == 3) return node.Reshaped(table, {s[0], 1, s[1], s[2]});
  return node.Invalid(absl::StrCat("angles are ", s.ToString()));
}

OnnxVars RotaryEmbedding(OnnxNode& node) {
  const OnnxVar input = node.input(0);
  const int64_t heads = node.Int("num_heads", 0);
  const bool interleaved = node.Int("interleaved", 0) != 0;
  int64_t turned = node.Int("rotary_embedding_dim", 0);
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(input);
  OnnxVar x = input;  // [N, heads, length, size]
  if (shape.rank() == 3) {
    if (heads < 1 || shape[2] % heads != 0) {
      return node.Invalid(absl::StrCat(heads, " heads for ", shape.ToString()));
    }
    x = node.Permuted(node.Reshaped(x, {shape[0], shape[1], heads, shape[2] / heads}),
                      {0, 2, 1, 3});
  }
  if (node.rank(x) != 4) return node.Invalid("expected rank 3 or 4");
  const Shape s = node.shape(x);
  if (turned == 0) turned = s[3];
  if (turned < 2 || turned > s[3] || turned % 2 != 0) {
    return node.Invalid(absl::StrCat("rotary_embedding_dim is ", turned, " of ", s[3]));
  }
  const OnnxVar cosines = AnglesOf(node, 1), sines = AnglesOf(node, 2);
  const int64_t pairs = turned / 2, step = interleaved ? 2 : 1;
  const OnnxVar a = LastAxis(node, x, 0, interleaved ? turned : pairs, step);
  const OnnxVar b = LastAxis(node, x, interleaved ? 1 : pairs, turned, step);
  OnnxVar real = node.Difference(node.Product(a, cosines), node.Product(b, sines));
  OnnxVar imaginary = node.Sum(node.Product(a, sines), node.Product(b, cosines));
  OnnxVar y;
  if (interleaved) {
    const Shape apart = {s[0], s[1], s[2], pairs, 1};
    y = node.Add<Concat>({4}, {node.Reshaped(real, apart), node.Reshaped(imaginary, apart)});
    y = node.Reshaped(y, {s[0], s[1], s[2], turned});
  } else {
    y = node.Add<Concat>({3}, {real, imaginary});
  }
  if (turned < s[3]) y = node.Add<Concat>({3}, {y, LastAxis(node, x, turned, s[3], 1)});
  if (shape.rank() == 4) return y;
  return node.Reshaped(node.Permuted(y, {0, 2, 1, 3}), shape);
}

constexpr OnnxRow kRotaryRows[] = {OnnxRow("RotaryEmbedding", 3, 4, RotaryEmbedding).Since(23)};

}  // namespace

absl::Span<const OnnxRow> OnnxRotaryRows() { return kRotaryRows; }

}  // namespace ashlar

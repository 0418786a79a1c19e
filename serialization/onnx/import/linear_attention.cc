// Imports LinearAttention, a recurrence over positions: a state of keys by values, which each
// position decays and adds to. It is computed position by position.
#include <cmath>

#include "opr/concat.h"
#include "opr/matrix_mul.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

constexpr int64_t kMostPositions = 4096;

// Converts [N, length, heads * size] to [N, heads, length, size].
OnnxVar HeadsOf(OnnxNode& node, int i, int64_t heads) {
  const OnnxVar x = node.input(i);
  if (!node.ok()) return kNoOnnxVar;
  const Shape s = node.shape(x);
  if (s.rank() != 3 || heads < 1 || s[2] % heads != 0) {
    return node.Invalid(absl::StrCat("input ", i, " is ", s.ToString(), ", expected [N, length, ",
                                     heads, " heads * size]"));
  }
  return node.Permuted(node.Reshaped(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

// Returns a position of [N, heads, length, size] as [N, heads, 1, size].
OnnxVar At(OnnxNode& node, OnnxVar x, int64_t position) {
  if (node.shape(x)[2] == 1) return x;
  return node.Add<Subtensor>({{2}, {1}, {1}, {0}, {0}},
                             {x, node.IntVector({position}), node.IntVector({position + 1})});
}

// Converts [N, heads, 1, size] to [N, heads, size, 1].
OnnxVar AsColumn(OnnxNode& node, OnnxVar row) {
  const Shape s = node.shape(row);
  return node.Reshaped(row, {s[0], s[1], s[3], 1});
}

OnnxVars LinearAttention(OnnxNode& node) {
  node.Ignore({"chunk_size"});
  const int64_t heads = node.Int("q_num_heads", 0), key_heads = node.Int("kv_num_heads", 0);
  const std::string rule = node.Text("update_rule", "gated_delta");
  double scale = node.Float("scale", 0);
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") {
    return node.Invalid(absl::StrCat("update_rule is '", rule, "'"));
  }
  if (key_heads < 1 || heads % key_heads != 0) {
    return node.Invalid(absl::StrCat(heads, " heads of queries for ", key_heads, " of keys"));
  }
  const OnnxVar q = HeadsOf(node, 0, heads), k = HeadsOf(node, 1, key_heads);
  const OnnxVar v = HeadsOf(node, 2, key_heads);
  OnnxVar decay = kNoOnnxVar, beta = kNoOnnxVar;
  if (gated) decay = node.Function(F::kExp, {HeadsOf(node, 4, key_heads)});
  if (delta) {
    const OnnxVar given = node.input(5);
    if (!node.ok()) return kNoOnnxVar;
    beta = HeadsOf(node, 5, node.rank(given) == 3 && node.shape(given)[2] == 1 ? 1 : key_heads);
  }
  if (!node.ok()) return kNoOnnxVar;
  const Shape qs = node.shape(q), ks = node.shape(k), vs = node.shape(v);
  const int64_t length = qs[2], in_group = heads / key_heads;
  if (length < 1 || length > kMostPositions) {
    return node.Unsupported(
        absl::StrCat("of ", length, " positions, expected 1 to ", kMostPositions));
  }
  bool fits =
      qs[0] == ks[0] && ks[0] == vs[0] && ks[2] == length && vs[2] == length && qs[3] == ks[3];
  for (const OnnxVar other : {decay, beta}) {
    if (other == kNoOnnxVar) continue;
    const Shape s = node.shape(other);
    fits =
        fits && s[0] == qs[0] && s[2] == length && (s[3] == 1 || (other == decay && s[3] == ks[3]));
  }
  const Shape of_state = {ks[0], key_heads, ks[3], vs[3]};
  OnnxVar state = kNoOnnxVar;  // kNoOnnxVar: zeros
  if (node.has(3)) {
    state = node.input(3);
    fits = fits && node.shape(state) == of_state;
  }
  if (!fits) return node.Invalid("the inputs differ in images, positions or sizes of heads");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(qs[3]));
  std::vector<OnnxVar> rows;
  for (int64_t t = 0; t < length && node.ok(); ++t) {
    const OnnxVar key = At(node, k, t);
    OnnxVar value = At(node, v, t);
    if (state != kNoOnnxVar && gated) {
      state = node.Product(state, AsColumn(node, At(node, decay, t)));
    }
    if (delta) {
      if (state != kNoOnnxVar) {
        value = node.Difference(value, node.Add<MatrixMul>({false, false}, {key, state}));
      }
      value = node.Product(value, At(node, beta, t));
    }
    const OnnxVar added = node.Product(AsColumn(node, key), value);
    state = state == kNoOnnxVar ? added : node.Sum(state, added);
    // Heads of queries that share a state are rows of one product.
    const OnnxVar query = node.Reshaped(At(node, q, t), {qs[0], key_heads, in_group, qs[3]});
    rows.push_back(node.Reshaped(node.Add<MatrixMul>({false, false}, {query, state}),
                                 {qs[0], 1, heads * vs[3]}));
  }
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar y = rows.size() == 1 ? rows[0] : node.Add<Concat>({1}, rows);
  return {node.Product(y, scale), state};
}

constexpr OnnxRow kLinearAttentionRows[] = {
    OnnxRow("LinearAttention", 3, 6, LinearAttention)
        .Since(27)
        .Limits("position by position, up to 4096"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxLinearAttentionRows() { return kLinearAttentionRows; }

}  // namespace ashlar

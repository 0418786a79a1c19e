// Imports attention as one fused operator. If its products are outputs or capped, it becomes
// separate operators: product, softmax, product.
#include "opr/attention.h"

#include <cmath>
#include <limits>

#include "opr/concat.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
constexpr double kLowest = std::numeric_limits<float>::lowest();

// Converts [N, length, heads * size] to [N, heads, length, size].
OnnxVar Headed(OnnxNode& node, OnnxVar x, int64_t heads) {
  if (node.rank(x) == 4) return x;
  const Shape s = node.shape(x);
  if (s.rank() != 3 || heads < 1 || s[2] % heads != 0) {
    return node.Invalid(absl::StrCat(heads, " heads for ", s.ToString()));
  }
  return node.Permuted(node.Reshaped(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

OnnxVar Behind(OnnxNode& node, OnnxVar past, OnnxVar x) { return node.Add<Concat>({2}, {past, x}); }

// Masks have the dtype of the queries.
DType MaskType(OnnxNode& node) { return node.dtype(node.input(0)); }

// Returns 0 for numbers that are not 0, and -inf for 0.
OnnxVar HidingZeros(OnnxNode& node, OnnxVar numbers) {
  return node.Function(F::kSelect,
                       {node.Converted(numbers, MaskType(node)), node.Scalar(0, MaskType(node)),
                        node.Scalar(-kInfinity, MaskType(node))});
}

// The keys that a query may see, by position. `KnownSight` and `SightOfValid` turn this into masks.
struct Sight {
  int64_t queries = 0, keys = 0;
  bool causal = false;
  int64_t offset = 0;             // position of the first query among the keys
  int64_t left = -1, right = -1;  // keys visible before and after the query's position; -1: all
  OnnxVar valid = kNoOnnxVar;     // by image, the number of keys; the queries are the last of them
};

// Returns the mask of input 3 as an addend to the products; keys after its end are hidden.
OnnxVar MaskOf(OnnxNode& node, OnnxVar mask, int64_t keys) {
  OnnxVar added = node.dtype(mask) == DType::kBool ? HidingZeros(node, mask) : mask;
  const int rank = node.rank(added);
  if (!node.ok() || rank == 0 || node.shape(added)[rank - 1] >= keys) return added;
  return node.Padded(added, rank - 1, 0, keys - node.shape(added)[rank - 1], -kInfinity);
}

// Builds [queries, keys] from value(position of the key - position of the query), with the first
// query at 0.
template <typename Value>
OnnxVar OfDistances(OnnxNode& node, const Sight& sight, DType dtype, const Value& value) {
  std::optional<HostTensor> table = node.NewTensor(dtype, {sight.queries, sight.keys});
  if (!table) return kNoOnnxVar;
  for (int64_t i = 0; i < table->num_elements(); ++i) {
    table->Set(i, value(i % sight.keys - i / sight.keys));
  }
  return node.Constant(*std::move(table));
}

// Returns the mask if the offset is known; none if every key is visible.
OnnxVar KnownSight(OnnxNode& node, const Sight& sight) {
  if (!sight.causal && sight.left < 0 && sight.right < 0) return kNoOnnxVar;
  return OfDistances(node, sight, MaskType(node), [&](int64_t distance) {
    const int64_t ahead = distance - sight.offset;
    const bool seen = (!sight.causal || ahead <= 0) && (sight.left < 0 || -ahead <= sight.left) &&
                      (sight.right < 0 || ahead <= sight.right);
    return seen ? 0.0 : -kInfinity;
  });
}

// The same if each image has its own number of keys: [N, 1, queries, keys].
OnnxVar SightOfValid(OnnxNode& node, const Sight& sight) {
  const OnnxVar valid = node.Converted(
      node.Reshaped(sight.valid, {node.shape(sight.valid)[0], 1, 1, 1}), MaskType(node));
  Sight first = sight;
  first.queries = 1;
  const OnnxVar places = OfDistances(node, first, MaskType(node),
                                     [](int64_t key) { return static_cast<double>(key); });
  OnnxVar hidden = HidingZeros(node, node.Function(F::kLess, {places, valid}));
  const OnnxVar ahead = node.Difference(
      OfDistances(node, sight, MaskType(node),
                  [&](int64_t d) { return static_cast<double>(d + sight.queries); }),
      valid);
  const auto hide = [&](OnnxVar a, OnnxVar b) {  // hides keys unless a <= b
    const OnnxVar over = node.Function(F::kLess, {b, a});
    hidden =
        node.Sum(hidden, node.Function(F::kSelect, {over, node.Scalar(-kInfinity, MaskType(node)),
                                                    node.Scalar(0, MaskType(node))}));
  };
  const auto number = [&](int64_t n) {
    return node.Scalar(static_cast<double>(n), MaskType(node));
  };
  if (sight.causal) hide(ahead, number(0));
  if (sight.right >= 0) hide(ahead, number(sight.right));
  if (sight.left >= 0) hide(number(-sight.left), ahead);
  return hidden;
}

OnnxVar BothMasks(OnnxNode& node, OnnxVar a, OnnxVar b) {
  if (a == kNoOnnxVar || b == kNoOnnxVar) return a == kNoOnnxVar ? b : a;
  return node.Sum(a, b);
}

struct Weighed {
  OnnxVar y, products;
};

// `mode` chooses the returned products: 0 raw, 1 capped, 2 masked, 3 after the softmax.
Weighed InSteps(OnnxNode& node, OnnxVar q, OnnxVar k, OnnxVar v, OnnxVar mask, double scale,
                double cap, int64_t mode) {
  const Shape qs = node.shape(q), ks = node.shape(k);
  const int64_t heads = qs[1], key_heads = ks[1];
  if (key_heads < 1 || heads % key_heads != 0) {
    node.Invalid(absl::StrCat(heads, " heads of queries for ", key_heads, " of keys"));
    return {};
  }
  // Heads that share their keys become rows of one product.
  const int64_t rows = heads / key_heads * qs[2];
  const Shape whole = {qs[0], heads, qs[2], ks[2]}, grouped = {qs[0], key_heads, rows, ks[2]};
  const OnnxVar queries = node.Reshaped(q, {qs[0], key_heads, rows, qs[3]});
  const OnnxVar raw =
      node.Product(node.Reshaped(node.Add<MatrixMul>({false, true}, {queries, k}), whole), scale);
  const OnnxVar capped =
      cap == 0 ? raw : node.Product(node.Function(F::kTanh, {node.Product(raw, 1 / cap)}), cap);
  const OnnxVar masked = mask == kNoOnnxVar ? capped : node.Sum(capped, mask);
  OnnxVar weights = node.Add<Softmax>({-1}, {node.Greatest(masked, kLowest)});
  if (mask != kNoOnnxVar) {  // a query that sees no key has weights of 0
    const OnnxVar most = node.Add<Reduce>({ReduceMode::kMax, -1}, {mask});
    const OnnxVar blind =
        node.Function(F::kEqual, {most, node.Scalar(-kInfinity, node.dtype(most))});
    weights = node.Function(F::kSelect, {node.Converted(blind, node.dtype(weights)),
                                         node.Scalar(0, node.dtype(weights)), weights});
  }
  const OnnxVar y = node.Add<MatrixMul>({false, false}, {node.Reshaped(weights, grouped), v});
  const OnnxVar products[] = {raw, capped, masked, weights};
  return {node.Reshaped(y, {qs[0], heads, qs[2], node.shape(v)[3]}), products[mode]};
}

OnnxVars AttentionOf(OnnxNode& node) {
  node.Ignore({"softmax_precision"});
  const int64_t heads = node.Int("q_num_heads", 0);
  const int64_t key_heads = node.Int("kv_num_heads", 0);
  const bool joined = node.rank(node.input(0)) == 3;
  OnnxVar q = Headed(node, node.input(0), heads);
  OnnxVar k = Headed(node, node.input(1), key_heads);
  OnnxVar v = Headed(node, node.input(2), key_heads);
  const double cap = node.Float("softcap", 0);
  const int64_t mode = node.Int("qk_matmul_output_mode", 0);
  Sight sight;
  sight.causal = node.Int("is_causal", 0) != 0;
  sight.left = node.Int("left_window_size", -1);
  sight.right = node.Int("right_window_size", -1);
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(q) != 4 || node.rank(k) != 4 || node.rank(v) != 4) {
    return node.Invalid("expected rank 3 or 4");
  }
  if (mode < 0 || mode > 3) return node.Invalid(absl::StrCat("qk_matmul_output_mode is ", mode));
  const double scale = node.Float("scale", 1 / std::sqrt(static_cast<double>(node.shape(q)[3])));
  if (node.has(4)) {
    if (node.rank(node.input(4)) != 4) return node.Invalid("expected past keys of rank 4");
    sight.offset = node.shape(node.input(4))[2];
    k = Behind(node, node.input(4), k);
  }
  if (node.has(5)) v = Behind(node, node.input(5), v);
  if (!node.ok()) return kNoOnnxVar;
  sight.queries = node.shape(q)[2];
  sight.keys = node.shape(k)[2];
  OnnxVar mask = node.has(3) ? MaskOf(node, node.input(3), sight.keys) : kNoOnnxVar;
  if (node.has(6)) {
    sight.valid = node.input(6);
    if (node.rank(sight.valid) != 1) return node.Invalid("nonpad_kv_seqlen: expected rank 1");
    mask = BothMasks(node, mask, SightOfValid(node, sight));
  }
  const bool in_steps = cap != 0 || node.has_output(3);
  if (!node.has(6) && (in_steps || sight.left >= 0 || sight.right >= 0)) {
    mask = BothMasks(node, mask, KnownSight(node, sight));
  }
  const bool in_mask = node.has(6) || in_steps || sight.left >= 0 || sight.right >= 0;
  Weighed weighed;
  if (in_steps) {
    weighed = InSteps(node, q, k, v, mask, scale, cap, mode);
  } else {
    const AttentionParam param = {scale, sight.causal && !in_mask, in_mask ? 0 : sight.offset};
    std::vector<OnnxVar> inputs = {q, k, v};
    if (mask != kNoOnnxVar) inputs.push_back(mask);
    weighed.y = node.Add<Attention>(param, std::move(inputs));
  }
  if (!node.ok()) return kNoOnnxVar;
  OnnxVar y = weighed.y;
  if (joined) {
    const Shape s = node.shape(y);
    y = node.Reshaped(node.Permuted(y, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
  }
  OnnxVars outputs = {y, k, v};
  if (in_steps) outputs.push_back(weighed.products);
  return outputs;
}

constexpr OnnxRow kAttentionRows[] = {
    OnnxRow("Attention", 3, 7, AttentionOf)
        .Since(23)
        .Limits("in steps if it is capped or its products are an output"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxAttentionRows() { return kAttentionRows; }

}  // namespace ashlar

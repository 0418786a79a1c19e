// Attention of ONNX.
#include <cmath>
#include <limits>

#include "opr/attention.h"
#include "opr/concat.h"
#include "serialization/onnx/import_table.h"

namespace ashlar {
namespace {

// [N, length, heads * size] as [N, heads, length, size].
OnnxVar Headed(OnnxNode& node, OnnxVar x, int64_t heads) {
  if (node.rank(x) == 4) return x;
  const Shape s = node.shape(x);
  if (s.rank() != 3 || heads < 1 || s[2] % heads != 0) {
    return node.Invalid(absl::StrCat(heads, " heads for ", s.ToString()));
  }
  return node.Permuted(node.Reshaped(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

OnnxVar Behind(OnnxNode& node, OnnxVar past, OnnxVar x) { return node.Add<Concat>({2}, {past, x}); }

// Added to the products: of Bool, 0 where it is true and -inf where it is not.
OnnxVar MaskOf(OnnxNode& node, OnnxVar mask) {
  if (node.dtype(mask) != DType::kBool) return mask;
  const OnnxVar taken = node.Converted(mask, DType::kFloat32);
  return node.Function(ScalarFunction::kSelect,
                       {taken, node.Scalar(0, DType::kFloat32),
                        node.Scalar(-std::numeric_limits<double>::infinity(), DType::kFloat32)});
}

OnnxVars AttentionOf(OnnxNode& node) {
  node.Ignore({"softmax_precision"});
  const int64_t heads = node.Int("q_num_heads", 0);
  const int64_t key_heads = node.Int("kv_num_heads", 0);
  const bool joined = node.rank(node.input(0)) == 3;
  OnnxVar q = Headed(node, node.input(0), heads);
  OnnxVar k = Headed(node, node.input(1), key_heads);
  OnnxVar v = Headed(node, node.input(2), key_heads);
  if (node.Float("softcap", 0) != 0) return node.Unsupported("softcap");
  if (node.Int("qk_matmul_output_mode", 0) != 0 && node.has_output(3)) {
    return node.Unsupported("qk_matmul_output_mode");
  }
  AttentionParam param;
  param.causal = node.Int("is_causal", 0) != 0;
  if (!node.ok()) return kNoOnnxVar;
  if (node.rank(q) != 4 || node.rank(k) != 4 || node.rank(v) != 4) {
    return node.Invalid("expected rank 3 or 4");
  }
  if (node.has(6)) return node.Unsupported("nonpad_kv_seqlen");
  const double size = static_cast<double>(node.shape(q)[3]);
  param.scale = node.Float("scale", 1 / std::sqrt(size));
  if (node.has(4)) k = Behind(node, node.input(4), k);
  if (node.has(5)) v = Behind(node, node.input(5), v);
  std::vector<OnnxVar> inputs = {q, k, v};
  if (node.has(3)) inputs.push_back(MaskOf(node, node.input(3)));
  const Shape shape = {node.shape(q)[0], node.shape(q)[1], node.shape(q)[2], node.shape(v)[3]};
  OnnxVar y = node.Add<Attention>(param, std::move(inputs));
  if (joined) {
    y = node.Reshaped(node.Permuted(y, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
  }
  return {y, k, v};
}

constexpr OnnxRow kAttentionRows[] = {
    OnnxRow("Attention", 3, 7, AttentionOf)
        .Since(23)
        .Limits("without softcap and the products as an output"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxAttentionRows() { return kAttentionRows; }

}  // namespace ashlar

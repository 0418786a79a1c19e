// Imports FlexAttention: attention whose products, and weights after the softmax, are changed by
// graphs of the node. Without these it is one fused operator.
#include <cmath>

#include "graph/status.h"
#include "opr/attention.h"
#include "opr/matrix_mul.h"
#include "opr/softmax.h"
#include "serialization/onnx/import/node_reader.h"

namespace ashlar {

absl::Status OnnxNodeReader::ReadFlexAttention(const onnx::NodeProto& node,
                                               const std::vector<OnnxVar>& inputs,
                                               OnnxScope& scope) {
  if (inputs.size() != 3 || node.output_size() != 1) {
    return absl::InvalidArgumentError("expected 3 inputs and 1 output");
  }
  bool fits = true;
  for (const OnnxVar input : inputs) {
    if (input == kNoOnnxVar || import_.sequence(input) != nullptr ||
        import_.type(input).shape.rank() != 4) {
      return absl::InvalidArgumentError("expected tensors of rank 4");
    }
    if (import_.count(input) != nullptr) {
      Miss(node, false, "the size of an input depends on data", scope);
      return absl::OkStatus();
    }
    fits = fits && import_.type(input).dtype == import_.type(inputs[0]).dtype;
  }
  const DType given = import_.type(inputs[0]).dtype;
  std::vector<OnnxVar> floats = inputs;
  ASHLAR_ASSIGN_OR_RETURN(const bool narrowed, floats_.Narrow(node.op_type(), floats));
  OnnxNode at(node, kNewestOperatorSet, floats, {true}, import_, external_);
  at.Ignore({"score_mod", "prob_mod"});
  const OnnxVar q = floats[0], k = floats[1], v = floats[2];
  const Shape qs = at.shape(q), ks = at.shape(k), vs = at.shape(v);
  fits = fits && IsFloat(given) && qs[0] == ks[0] && ks[0] == vs[0] && ks[1] == vs[1] &&
         qs[3] == ks[3] && ks[2] == vs[2] && ks[1] > 0 && qs[1] % ks[1] == 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "queries ", at.type_of(inputs[0]).ToString(), " for keys ",
        at.type_of(inputs[1]).ToString(), " and values ", at.type_of(inputs[2]).ToString()));
  }
  const double scale = at.Float("scale", 1 / std::sqrt(static_cast<double>(qs[3])));
  // The type that the graphs get and return; it is computed as Float32.
  const int64_t declared =
      at.Int("softmax_precision",
             given == DType::kFloat64 ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT);
  const DType dtype = declared == onnx::TensorProto::DOUBLE ? DType::kFloat64 : DType::kFloat32;
  ASHLAR_RETURN_IF_ERROR(at.Finish());
  bool unknown = false;
  // Returns x, changed by a graph of the node if it has that one.
  const auto changed = [&](const char* graph, OnnxVar x) -> absl::StatusOr<OnnxVar> {
    if (!at.has_attribute(graph) || unknown) return x;
    ASHLAR_ASSIGN_OR_RETURN(x, floats_.Converted(x, dtype));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> read, ReadBranch(node, graph, scope, x));
    import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(node)));
    unknown = import_.unknown(read[0]);
    if (unknown) return x;
    if (import_.sequence(read[0]) != nullptr || import_.count(read[0]) != nullptr ||
        import_.type(read[0]) != import_.type(x)) {
      return absl::InvalidArgumentError(
          absl::StrCat(graph, " changes the type ", import_.type(x).ToString()));
    }
    return floats_.Converted(read[0], DType::kFloat32);
  };
  OnnxVar y;
  if (!at.has_attribute("score_mod") && !at.has_attribute("prob_mod")) {
    y = at.Add<Attention>({scale, false, 0}, {q, k, v});
  } else {
    // Heads that share their keys become rows of one product.
    const int64_t rows = qs[1] / ks[1] * qs[2];
    const Shape whole = {qs[0], qs[1], qs[2], ks[2]}, grouped = {qs[0], ks[1], rows, ks[2]};
    const OnnxVar queries = at.Reshaped(q, {qs[0], ks[1], rows, qs[3]});
    const OnnxVar products = at.Add<MatrixMul>({false, true}, {queries, k});
    OnnxVar weights = at.Product(at.Reshaped(products, whole), scale);
    ASHLAR_RETURN_IF_ERROR(at.Finish());
    ASHLAR_ASSIGN_OR_RETURN(weights, changed("score_mod", weights));
    weights = at.Add<Softmax>({-1}, {weights});
    ASHLAR_RETURN_IF_ERROR(at.Finish());
    ASHLAR_ASSIGN_OR_RETURN(weights, changed("prob_mod", weights));
    if (unknown) {
      DefineUnknown(node, false, scope);
      return absl::OkStatus();
    }
    y = at.Reshaped(at.Add<MatrixMul>({false, false}, {at.Reshaped(weights, grouped), v}),
                    {qs[0], qs[1], qs[2], vs[3]});
  }
  const absl::Status status = at.Finish();
  if (absl::IsUnimplemented(status)) {
    Miss(node, false, std::string(status.message()), scope);
    return absl::OkStatus();
  }
  ASHLAR_RETURN_IF_ERROR(status);
  if (narrowed) {
    ASHLAR_ASSIGN_OR_RETURN(y, floats_.Converted(y, given));
  }
  Define(node, 0, y, scope);
  return absl::OkStatus();
}

}  // namespace ashlar

#include "serialization/onnx/import/inputs.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "graph/graph.h"
#include "graph/status.h"
#include "serialization/onnx/shown.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

using onnx::TensorShapeProto;

// The side of a picture if the file does not give it.
constexpr int64_t kUsualSide = 224;

// Returns whether a dimension is known. Exporters also write -1 for sizes that are not fixed. 0 is
// a size: such tensors have no elements.
bool IsFixed(const TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() >= 0;
}

absl::Status NotFixed(const onnx::ValueInfoProto& input, const TensorShapeProto& shape) {
  std::vector<std::string> names, example;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const TensorShapeProto::Dimension& dim = shape.dim(i);
    if (IsFixed(dim)) {
      example.push_back(absl::StrCat(dim.dim_value()));
      continue;
    }
    example.push_back(i == 0 ? "1" : absl::StrCat(kUsualSide));
    names.push_back(dim.has_dim_param() && !dim.dim_param().empty()
                        ? absl::StrCat("'", Shown(dim.dim_param()), "'")
                        : absl::StrCat("dimension ", i));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("input ", Shown(input.name()), ": ", absl::StrJoin(names, " and "),
                   names.size() == 1 ? " is" : " are", " not fixed; a shape such as ",
                   Shown(input.name()), "=", absl::StrJoin(example, "x"), " fixes them"));
}

}  // namespace

absl::StatusOr<TensorType> OnnxInputType(const onnx::ValueInfoProto& input,
                                         const OnnxReadOptions& options) {
  const std::string name = absl::StrCat("input ", Shown(input.name()));
  if (!input.type().has_tensor_type()) {
    return absl::UnimplementedError(absl::StrCat(name, " is no tensor"));
  }
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  const absl::StatusOr<DType> computed = ComputedAs(tensor.elem_type());
  if (!computed.ok()) return Annotate(computed.status(), name);
  const DType dtype = DeclaredAs(tensor.elem_type(), *computed);
  if (const auto given = options.shapes.find(input.name()); given != options.shapes.end()) {
    return TensorType{dtype, given->second};
  }
  if (!tensor.has_shape()) {
    return absl::FailedPreconditionError(absl::StrCat(name, " has no shape; a shape such as ",
                                                      Shown(input.name()), "=1x3x", kUsualSide, "x",
                                                      kUsualSide, " gives it one"));
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const TensorShapeProto::Dimension& dim = tensor.shape().dim(i);
    if (!IsFixed(dim) && i > 0) return NotFixed(input, tensor.shape());
    dims.push_back(IsFixed(dim) ? dim.dim_value() : 1);
    if (IsFixed(dim) || options.note == nullptr) continue;
    bool others = true;
    for (int k = 1; k < tensor.shape().dim_size(); ++k) others &= IsFixed(tensor.shape().dim(k));
    if (others) {
      options.note(absl::StrCat(name,
                                ": the first dimension is not fixed; it is 1 (a shape such as ",
                                Shown(input.name()), "=... fixes it)"));
    }
  }
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Annotate(shape.status(), name);
  if (options.note != nullptr && shape->num_elements() == 0) {
    options.note(absl::StrCat(name, " is declared as ", shape->ToString(),
                              ", which has no elements (a shape such as ", Shown(input.name()),
                              "=... gives it some)"));
  }
  return TensorType{dtype, *std::move(shape)};
}

void NoteOnnxType(const onnx::ValueInfoProto& declared, const TensorType& type,
                  const OnnxReadOptions& options) {
  if (options.note == nullptr || !declared.type().tensor_type().has_shape()) return;
  const TensorShapeProto& shape = declared.type().tensor_type().shape();
  bool same = shape.dim_size() == type.shape.rank();
  std::vector<std::string> dims;
  for (int i = 0; i < shape.dim_size(); ++i) {
    const bool fixed = IsFixed(shape.dim(i));
    dims.push_back(fixed ? absl::StrCat(shape.dim(i).dim_value()) : "?");
    same = same && (!fixed || shape.dim(i).dim_value() == type.shape[i]);
  }
  if (same) return;
  options.note(absl::StrCat("the file declares '", Shown(declared.name()), "' as {",
                            absl::StrJoin(dims, ","), "}; it is ", type.shape.ToString()));
}

}  // namespace ashlar

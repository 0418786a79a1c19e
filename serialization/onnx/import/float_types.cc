#include "serialization/onnx/import/float_types.h"

#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/import/inputs.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {

void OnnxFloatTypes::Note(int onnx_type) {
  if (IsConverted(onnx_type)) converted_.insert(OnnxTypeName(onnx_type));
}

absl::StatusOr<OnnxVar> OnnxFloatTypes::Converted(OnnxVar var, DType dtype) {
  if (import_.type(var).dtype == dtype) return var;
  const auto [conversion, is_new] = conversions_.try_emplace({var, dtype}, var);
  if (!is_new) return conversion->second;
  TypeCvtParam param;
  param.dtype = dtype;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<OnnxVar> outputs,
                          import_.Add(std::make_shared<const TypeCvt>(std::move(param)), {var}));
  conversion->second = outputs[0];
  if (const OnnxCount* const count = import_.count(var)) import_.SetCount(outputs[0], *count);
  if (const OnnxCount* const second = import_.second_count(var)) {
    import_.SetSecondCount(outputs[0], *second);
  }
  // Back again, exactly.
  if (dtype == DType::kFloat64) conversions_.insert({{outputs[0], DType::kFloat32}, var});
  return outputs[0];
}

// Tells the listener about a constant that is finite as Float64 and not as Float32.
void OnnxFloatTypes::TellOfInfinity(OnnxVar wide, OnnxVar narrow) const {
  const HostTensor* const from = import_.constant(wide);
  if (from == nullptr) return;
  for (int64_t i = 0; i < from->num_elements(); ++i) {
    if (!std::isfinite(from->At(i)) || std::isfinite(import_.constant(narrow)->At(i))) continue;
    Tell(absl::StrCat(from->At(i), " of a double constant is infinite as Float32"));
    return;
  }
}

absl::StatusOr<bool> OnnxFloatTypes::Narrow(const std::string& op_type,
                                            std::vector<OnnxVar>& inputs) {
  bool any = false;
  for (OnnxVar& input : inputs) {
    const bool tensor = input != kNoOnnxVar && import_.sequence(input) == nullptr;
    if (!tensor || import_.type(input).dtype != DType::kFloat64) continue;
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar narrow, Converted(input, DType::kFloat32));
    TellOfInfinity(input, narrow);
    input = narrow;
    any = true;
  }
  if (any) narrowed_.insert(op_type);
  return any;
}

absl::StatusOr<OnnxVar> OnnxFloatTypes::AsDeclared(const std::string& name, OnnxVar var,
                                                   int onnx_type) {
  const DType dtype = import_.type(var).dtype;
  const DType declared = DeclaredAs(onnx_type, dtype);
  if (!IsFloat(dtype) || !IsFloat(declared)) return var;
  import_.BeginNode(absl::StrCat(name, "/", Name(declared)));
  return Converted(var, declared);
}

void OnnxFloatTypes::Tell() const {
  if (!converted_.empty()) {
    Tell(absl::StrCat(absl::StrJoin(converted_, " and "), " is computed as Float32"));
  }
  if (!narrowed_.empty()) {
    Tell(absl::StrCat("double is computed as Float32 by ", absl::StrJoin(narrowed_, ", ")));
  }
}

void OnnxFloatTypes::Tell(const std::string& note) const {
  if (options_.note != nullptr) options_.note(note);
  if (options_.value_notes != nullptr) options_.value_notes->push_back(note);
}

}  // namespace ashlar

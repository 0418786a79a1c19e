// Assigns 16-bit floats to operators that allow them, with casts between 16-bit and other tensors.
#include <algorithm>
#include <map>
#include <utility>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns whether sums need Float32 operands, which 16 bits cannot hold.
bool SumsInFloat32(const Operator& op) {
  const ParamList params = op.params();
  return std::any_of(params.begin(), params.end(), [](const auto& param) {
    const auto* const text = std::get_if<std::string>(&param.second);
    return param.first == "compute_mode" && text != nullptr && *text == "FLOAT32";
  });
}

class PrecisionAssigner {
 public:
  PrecisionAssigner(const Graph& graph, const OperatorTable& operators, DType precision)
      : operators_(operators), precision_(precision), rewriter_(graph) {}

  absl::StatusOr<Graph> Run() && {
    ASHLAR_ASSIGN_OR_RETURN(narrow_, MakeCast(precision_));
    ASHLAR_ASSIGN_OR_RETURN(widen_, MakeCast(DType::kFloat32));
    for (const OperatorNode& node : rewriter_.source().nodes()) ASHLAR_RETURN_IF_ERROR(Add(node));
    return std::move(rewriter_).Finish();
  }

 private:
  const Graph& source() const { return rewriter_.source(); }
  DType DTypeOf(int new_var) { return rewriter_.builder().graph().var(new_var).type.dtype; }

  absl::StatusOr<OperatorPtr> MakeCast(DType dtype) const {
    return operators_.Make("TypeCvt", {{"dtype", std::string(Name(dtype))}});
  }

  absl::Status Add(const OperatorNode& node) {
    std::vector<int> inputs = rewriter_.MapAll(node.inputs);
    const bool low = IsLow(node, inputs);
    const bool takes_any = !low && TakesAsTheyCome(node, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsWide(node, i) || takes_any) continue;
      ASHLAR_ASSIGN_OR_RETURN(inputs[i], InDType(inputs[i], low ? precision_ : DType::kFloat32));
    }
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> outputs,
        rewriter_.builder().Add(node.op, std::move(inputs), rewriter_.Identity(node)));
    for (size_t i = 0; i < outputs.size(); ++i) rewriter_.Replace(node.outputs[i], outputs[i]);
    return absl::OkStatus();
  }

  // Returns whether the source reads Float32 elements there.
  bool IsWide(const OperatorNode& node, size_t input) const {
    return node.op->input_use(static_cast<int>(input)) == InputUse::kDeviceValue &&
           source().var(node.inputs[input]).type.dtype == DType::kFloat32;
  }

  bool IsLow(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.op->role() != Role::kCompute || SumsInFloat32(*node.op)) return false;
    switch (node.op->storage_rules(source().SiteOf(node)).precision) {
      case PrecisionRule::kFloat32:
        return false;
      case PrecisionRule::kLow:
        return true;
      case PrecisionRule::kFollow:
        break;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsWide(node, i) && DTypeOf(inputs[i]) == precision_) return true;
    }
    return false;
  }

  // Returns whether the node gives the same result if it reads its inputs without casts to Float32,
  // though some of them now have 16 bits.
  bool TakesAsTheyCome(const OperatorNode& node, const std::vector<int>& inputs) {
    if (node.op->role() != Role::kCompute) return false;
    std::vector<InputInfo> infos = source().InputInfos(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (IsWide(node, i)) infos[i].type.dtype = DTypeOf(inputs[i]);
    }
    const absl::StatusOr<std::vector<TensorType>> outputs = node.op->Infer(infos);
    return outputs.ok() && *outputs == source().OutputTypes(node);
  }

  // Returns the var in a dtype: itself, or its cast, which all readers share. Constants are
  // converted immediately.
  absl::StatusOr<int> InDType(int var, DType dtype) {
    if (DTypeOf(var) == dtype) return var;
    const auto [entry, is_new] = casts_.try_emplace({var, dtype}, -1);
    if (!is_new) return entry->second;
    const OperatorPtr& cast = dtype == precision_ ? narrow_ : widen_;
    std::vector<int> outputs;
    if (const HostTensor* value = rewriter_.builder().graph().constant(var)) {
      ASHLAR_ASSIGN_OR_RETURN(std::vector<HostTensor> converted, cast->Evaluate({*value}));
      ASHLAR_ASSIGN_OR_RETURN(
          outputs, rewriter_.builder().Add(operators_.MakeConstant(std::move(converted[0])), {}));
    } else {
      ASHLAR_ASSIGN_OR_RETURN(outputs, rewriter_.builder().Add(cast, {var}));
    }
    entry->second = outputs[0];
    return entry->second;
  }

  const OperatorTable& operators_;
  const DType precision_;
  GraphRewriter rewriter_;
  OperatorPtr narrow_, widen_;
  std::map<std::pair<int, DType>, int> casts_;  // by new var
};

}  // namespace

absl::StatusOr<Graph> AssignPrecision(const Graph& graph, const OperatorTable& operators,
                                      DType precision) {
  if (precision != DType::kFloat16 && precision != DType::kBFloat16) {
    return absl::InvalidArgumentError(
        absl::StrCat("precision ", Name(precision), ", expected Float16 or BFloat16"));
  }
  return PrecisionAssigner(graph, operators, precision).Run();
}

}  // namespace ashlar

#include "codegen/c_border.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "codegen/c_text.h"

namespace ashlar {
namespace {

// Returns the quantisation of a var, or of a var with the same bytes under another type.
Quantization QuantizationOf(const PlannedGraph& planned, int var) {
  const VarView& view = planned.model.views[static_cast<size_t>(var)];
  const TensorType& type = planned.graph.var(var).type;
  if (!type.quantization.empty() || view.storage < 0) return type.quantization;
  for (size_t i = 0; i < planned.model.views.size(); ++i) {
    const VarView& other = planned.model.views[i];
    const TensorType& of = planned.graph.var(static_cast<int>(i)).type;
    if (other.storage == view.storage && other.offset == view.offset &&
        of.bytes() == type.bytes() && StoredAs(of.dtype) == type.dtype &&
        of.quantization.scales().size() == 1) {
      return of.quantization;
    }
  }
  return {};
}

// `name`: of an only tensor; empty: it has a name of its own, too.
std::vector<CTensor> TensorsOf(const PlannedGraph& planned, const std::vector<Binding>& bindings,
                               const std::string& name, const std::string& prefix,
                               const std::string& macro) {
  std::vector<CTensor> tensors;
  std::set<std::string> names;
  for (size_t i = 0; i < bindings.size(); ++i) {
    CTensor tensor;
    tensor.model_name = bindings[i].name;
    tensor.type = planned.graph.var(bindings[i].var).type;
    tensor.quantization = QuantizationOf(planned, bindings[i].var);
    tensor.name = name;
    tensor.macro = macro;
    if (bindings.size() > 1 || name.empty()) {
      std::string own = IdentifierLike(bindings[i].name);
      if (!names.insert(Upper(own)).second) absl::StrAppend(&own, "_", i);
      tensor.name = absl::StrCat(prefix, own);
      tensor.macro = absl::StrCat(macro, "_", Upper(own));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

CBorder BorderOf(const PlannedGraph& planned, const std::string& program) {
  const Graph& graph = planned.graph;
  const std::string macro = Upper(program);
  CBorder border = {TensorsOf(planned, graph.inputs(), "input", "in_", macro + "_INPUT"),
                    TensorsOf(planned, graph.outputs(), "output", "out_", macro + "_OUTPUT"),
                    {}};
  for (size_t i = 0; i < border.inputs.size(); ++i) {
    if (!planned.is_released(static_cast<int>(i))) continue;
    border.inputs[i].offset = planned.Locate(graph.inputs()[i].var)->offset;
  }
  const std::vector<StateEntry>& entries = planned.state.entries;
  std::vector<Binding> states(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    states[i].name = entries[i].name;
    states[i].var = entries[i].var;
  }
  border.states = TensorsOf(planned, states, "", "state_", macro + "_STATE");
  for (size_t i = 0; i < entries.size(); ++i) border.states[i].offset = entries[i].offset;
  return border;
}

}  // namespace ashlar

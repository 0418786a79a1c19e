#include "library/channels_last.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "library/join_models.h"
#include "opr/dimshuffle.h"
#include "opr/host_io.h"

namespace ashlar {
namespace {

// Returns a model that reads tensors of these bindings, permuted by `pattern`; null without images.
// `before`: the tensors are its outputs, as inputs of a model; otherwise its inputs.
absl::StatusOr<std::optional<Model>> Permuting(const Graph& graph,
                                               const std::vector<Binding>& border, bool before) {
  GraphBuilder builder;
  bool any = false;
  for (const Binding& binding : border) {
    const TensorType& type = graph.var(binding.var).type;
    if (type.shape.rank() != 4) continue;
    any = true;
    const Shape& s = type.shape;
    const std::vector<int64_t> last = {s[0], s[2], s[3], s[1]}, first = {s[0], s[1], s[2], s[3]};
    const InputParam given{type.dtype, before ? last : first};
    const std::string name = absl::StrCat("layout/", binding.name);
    const auto add = [&](OperatorPtr op, std::vector<int> inputs, absl::string_view part,
                         const std::string& bound) -> absl::StatusOr<std::vector<int>> {
      GraphBuilder::NodeOptions options;
      options.name = absl::StrCat(name, part);
      options.binding = bound;
      return builder.Add(std::move(op), std::move(inputs), std::move(options));
    };
    ASHLAR_ASSIGN_OR_RETURN(std::vector<int> x, add(std::make_shared<const Host2DeviceCopy>(given),
                                                    {}, ":in", binding.name));
    const DimshuffleParam pattern = {before ? std::vector<int64_t>{0, 3, 1, 2}
                                            : std::vector<int64_t>{0, 2, 3, 1}};
    ASHLAR_ASSIGN_OR_RETURN(x, add(std::make_shared<const Dimshuffle>(pattern), x, "", ""));
    ASHLAR_RETURN_IF_ERROR(
        add(std::make_shared<const OutputCallback>(OutputParam()), x, ":out", binding.name)
            .status());
  }
  if (!any) return std::nullopt;
  Model model;
  ASHLAR_ASSIGN_OR_RETURN(model.graph, std::move(builder).Build());
  return model;
}

}  // namespace

absl::StatusOr<Model> WithChannelsLast(Model model) {
  if (model.channels_last) return model;
  ASHLAR_ASSIGN_OR_RETURN(std::optional<Model> before,
                          Permuting(model.graph, model.graph.inputs(), true));
  ASHLAR_ASSIGN_OR_RETURN(std::optional<Model> after,
                          Permuting(model.graph, model.graph.outputs(), false));
  if (!before && !after) {
    return absl::InvalidArgumentError("no input or output is {N,C,H,W}");
  }
  if (before) {
    ASHLAR_ASSIGN_OR_RETURN(model, JoinModels(*std::move(before), std::move(model)));
  }
  if (after) {
    ASHLAR_ASSIGN_OR_RETURN(model, JoinModels(std::move(model), *std::move(after)));
  }
  model.channels_last = true;
  return model;
}

}  // namespace ashlar

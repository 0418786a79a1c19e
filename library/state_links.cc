#include "library/state_links.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/rewriter.h"
#include "graph/state.h"
#include "graph/status.h"
#include "opr/assign.h"
#include "opr/table.h"
#include "serialization/counted_results.h"

namespace ashlar {
namespace {

// A link in a graph.
struct Link {
  const Binding* output;
  const Binding* input;
};

absl::StatusOr<const Binding*> Find(const std::vector<Binding>& bindings, const std::string& name,
                                    absl::string_view kind) {
  for (const Binding& binding : bindings) {
    if (binding.name == name) return &binding;
  }
  const auto append = [](std::string* out, const Binding& b) { out->append(b.name); };
  return absl::InvalidArgumentError(
      absl::StrCat("no ", kind, " '", name.substr(0, 80),
                   "'; the model has: ", absl::StrJoin(bindings, ", ", append)));
}

absl::StatusOr<std::vector<Link>> FindAll(const Graph& graph, absl::Span<const StateLink> links) {
  const std::vector<CountedOutput> counts = CountedOutputsOf(graph);
  std::vector<Link> found;
  std::set<std::string> linked;
  for (const StateLink& link : links) {
    ASHLAR_ASSIGN_OR_RETURN(const Binding* const output,
                            Find(graph.outputs(), link.output, "output"));
    ASHLAR_ASSIGN_OR_RETURN(const Binding* const input, Find(graph.inputs(), link.input, "input"));
    const TensorType& gives = graph.var(output->var).type;
    const TensorType& takes = graph.var(input->var).type;
    if (!linked.insert(link.input).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", link.input, "' is the state of two outputs"));
    }
    if (gives != takes) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", link.output, "' is ", gives.ToString(), ", and input '",
                       link.input, "' is ", takes.ToString(), ": a state has one type"));
    }
    const auto is_it = [&](const CountedOutput& counted) {
      return graph.outputs()[counted.output].name == link.output ||
             graph.outputs()[counted.count].name == link.output;
    };
    if (std::any_of(counts.begin(), counts.end(), is_it)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", link.output,
          "' has a size that depends on data, or is such a size; a state has one size"));
    }
    found.push_back({output, input});
  }
  return found;
}

// The order in which states take their values, so that a state that another one reads changes after
// it.
struct Sequence {
  std::vector<size_t> order;  // links
  std::vector<size_t> held;   // links whose value is copied before any state changes
};

// `reads` by link: the link whose state is its value; -1: none. Of states that exchange their
// values, one value is held.
Sequence SequenceOf(std::vector<int> reads) {
  Sequence sequence;
  std::vector<bool> done(reads.size(), false);
  while (sequence.order.size() < reads.size()) {
    const size_t before = sequence.order.size();
    for (size_t i = 0; i < reads.size(); ++i) {
      bool is_read = false;
      for (size_t k = 0; k < reads.size(); ++k) {
        is_read = is_read || (!done[k] && k != i && reads[k] == static_cast<int>(i));
      }
      if (done[i] || is_read) continue;
      done[i] = true;
      sequence.order.push_back(i);
    }
    if (sequence.order.size() > before) continue;
    const auto left =
        static_cast<size_t>(std::find(done.begin(), done.end(), false) - done.begin());
    sequence.held.push_back(left);
    reads[left] = -1;
  }
  return sequence;
}

// Adds a node that gives a state a value. Returns the state with the value.
absl::StatusOr<int> AddAssign(GraphBuilder& builder, int value, int state, std::string name) {
  GraphBuilder::NodeOptions options;
  options.name = std::move(name);
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(std::make_shared<const Assign>(NoParam()), {value, state}, std::move(options)));
  return made[0];
}

absl::StatusOr<Graph> AddStates(const Graph& graph, const std::vector<Link>& links) {
  std::map<int, size_t> of_input;  // by node
  std::set<int> of_outputs;        // nodes
  for (size_t i = 0; i < links.size(); ++i) {
    of_input[links[i].input->node] = i;
    of_outputs.insert(links[i].output->node);
  }
  const bool others = of_outputs.size() < graph.outputs().size();
  GraphRewriter rewriter(graph);
  GraphBuilder& builder = rewriter.builder();
  std::vector<int> states(links.size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (others && of_outputs.count(static_cast<int>(n)) > 0) continue;
    const auto link = of_input.find(static_cast<int>(n));
    if (link == of_input.end()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    const Var& var = graph.var(node.outputs[0]);
    GraphBuilder::NodeOptions options = rewriter.Identity(node);
    options.name = std::exchange(options.binding, "");
    options.output_ids.resize(1);
    options.output_names.resize(1);
    options.output_formats.resize(1);
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> made,
        builder.Add(Operators().MakeState(HostTensor::Zeros(var.type)), {}, std::move(options)));
    states[link->second] = made[0];
    rewriter.Replace(node.outputs[0], made[0]);
  }
  const StateUse use = FindStateUse(builder.graph());
  std::vector<int> values(links.size()), reads(links.size(), -1);
  for (size_t i = 0; i < links.size(); ++i) {
    values[i] = rewriter.Map(links[i].output->var);
    const auto state = std::find(states.begin(), states.end(), use.state[values[i]]);
    if (state != states.end()) reads[i] = static_cast<int>(state - states.begin());
  }
  const Sequence sequence = SequenceOf(reads);
  for (const size_t i : sequence.held) {
    const std::string name = links[i].input->name + ":held";
    GraphBuilder::NodeOptions options;
    options.name = name;
    const TensorType& type = builder.graph().var(values[i]).type;
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> place,
        builder.Add(Operators().MakeState(HostTensor::Zeros(type)), {}, std::move(options)));
    ASHLAR_ASSIGN_OR_RETURN(values[i], AddAssign(builder, values[i], place[0], name + ":next"));
  }
  for (const size_t i : sequence.order) {
    if (values[i] == states[i]) continue;  // the state never changes
    ASHLAR_RETURN_IF_ERROR(
        AddAssign(builder, values[i], states[i], links[i].input->name + ":next").status());
  }
  return std::move(rewriter).Finish();
}

}  // namespace

absl::StatusOr<StateLink> ParseStateLink(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text.substr(0, 80), "' is no OUTPUT=INPUT"));
  }
  return StateLink{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

absl::StatusOr<Model> WithStates(Model model, absl::Span<const StateLink> links) {
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Link> found, FindAll(model.graph, links));
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, AddStates(model.graph, found));
  Model made;
  made.data_files = FilesOf(model);
  made.reading_bytes = model.reading_bytes;
  made.notes = model.notes;
  made.graph = std::move(graph);
  const auto base = std::make_shared<const Model>(std::move(model));
  const std::vector<StateLink> kept(links.begin(), links.end());
  ModelOrigin origin;
  origin.reopen = [base, kept](const InputShapes& shapes) -> absl::StatusOr<Model> {
    ASHLAR_ASSIGN_OR_RETURN(Model again, WithShapes(*base, shapes));
    return WithStates(std::move(again), kept);
  };
  origin.open_axes = [base, kept]() -> std::optional<std::vector<OpenAxis>> {
    if (base->origin == nullptr) return std::vector<OpenAxis>();
    std::optional<std::vector<OpenAxis>> axes = base->origin->open_axes();
    if (!axes) return axes;
    std::erase_if(*axes, [&](const OpenAxis& axis) {
      return std::any_of(kept.begin(), kept.end(),
                         [&](const StateLink& link) { return link.input == axis.input; });
    });
    return axes;
  };
  made.origin = std::make_shared<const ModelOrigin>(std::move(origin));
  return made;
}

}  // namespace ashlar

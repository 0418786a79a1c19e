// Moves transposes and reshapes after the pointwise operators that read them ("transpose sinking");
// opposite movements that meet cancel. For example, the composition of a 3-D convolution makes
// depth the first axis and moves it back; between two such convolutions there is only an
// activation.
//
// Going forward, each var of the source is described by a var of the result, its base, and a list
// of pending movements. A pointwise operator whose inputs have the same pending movements is
// applied to their bases, with constants moved back. Before any other reader the movements are
// executed. The result is used if it moves fewer elements.
#include <map>
#include <optional>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

struct Step {
  int node = -1;  // of the source
  Movement movement;
  Shape from, to;

  bool keeps_order() const { return movement.axes.empty(); }
};

struct Moved {
  int base = -1;  // a var of the result
  std::vector<Step> steps;
};

bool SameSteps(const std::vector<Step>& a, const std::vector<Step>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].movement.axes != b[i].movement.axes || a[i].from != b[i].from || a[i].to != b[i].to) {
      return false;
    }
  }
  return true;
}

// Returns whether `second` puts every axis back.
bool AreOpposite(const Movement& first, const Movement& second) {
  if (first.axes.size() != second.axes.size()) return false;
  for (size_t i = 0; i < second.axes.size(); ++i) {
    if (first.axes[second.axes[i]] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

void Append(Step step, std::vector<Step>& steps) {
  steps.push_back(std::move(step));
  for (;;) {
    if (steps.back().keeps_order() && steps.back().from == steps.back().to) {
      steps.pop_back();
    } else if (steps.size() < 2) {
      return;
    } else if (Step& last = steps[steps.size() - 2];
               last.keeps_order() && steps.back().keeps_order() && last.from == steps.back().to) {
      steps.resize(steps.size() - 2);
    } else if (last.keeps_order() && steps.back().movement.of_any_shape) {
      steps.back().from = last.from;
      steps.erase(steps.end() - 2);
    } else if (!last.keeps_order() && !steps.back().keeps_order() &&
               AreOpposite(last.movement, steps.back().movement)) {
      steps.resize(steps.size() - 2);
    } else {
      return;
    }
    if (steps.empty()) return;
  }
}

int64_t ElementsBetween(const Shape& shape, int begin, int end) {
  int64_t elements = 1;
  for (int axis = begin; axis < end; ++axis) elements *= shape[axis];
  return elements;
}

// Returns the input axis of a reshape that is axis `axis` of its output; -1 if there is none.
int AxisBefore(const Shape& from, const Shape& to, int axis) {
  const int64_t outer = ElementsBetween(to, 0, axis);
  for (int before = 0; before < from.rank(); ++before) {
    if (from[before] == to[axis] && ElementsBetween(from, 0, before) == outer) return before;
  }
  return -1;
}

// Returns a constant as it broadcasts to the steps' base. It must have one element, or elements
// along one axis of the steps' result; otherwise nullopt.
std::optional<HostTensor> MovedBack(const HostTensor& constant, const std::vector<Step>& steps) {
  if (constant.num_elements() == 1) return constant.Reshaped({1});
  const Shape& shape = constant.shape();
  const int leading = steps.back().to.rank() - shape.rank();
  if (leading < 0) return std::nullopt;
  int axis = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    if (axis >= 0 || shape[i] != steps.back().to[leading + i]) return std::nullopt;
    axis = leading + i;
  }
  for (auto step = steps.rbegin(); step != steps.rend() && axis >= 0; ++step) {
    axis = step->keeps_order() ? AxisBefore(step->from, step->to, axis)
                               : static_cast<int>(step->movement.axes[axis]);
  }
  if (axis < 0) return std::nullopt;
  Shape back;
  for (int i = 0; i < steps[0].from.rank(); ++i) {
    back.push_back(i == axis ? constant.num_elements() : 1);
  }
  return constant.Reshaped(back);
}

class MovementSinker {
 public:
  MovementSinker(const Graph& graph, const OperatorTable& operators)
      : rewriter_(graph), operators_(operators), moved_(graph.vars().size()) {}

  absl::StatusOr<Graph> Run() && {
    for (const OperatorNode& node : source().nodes()) {
      ASHLAR_ASSIGN_OR_RETURN(const bool sunk, Sink(node));
      if (sunk) continue;
      std::vector<int> inputs;
      for (const int input : node.inputs) {
        ASHLAR_ASSIGN_OR_RETURN(const int var, Arrived(input));
        rewriter_.Replace(input, var);
      }
      ASHLAR_RETURN_IF_ERROR(rewriter_.Copy(node));
      for (const int output : node.outputs) moved_[output] = {rewriter_.Map(output), {}};
    }
    return std::move(rewriter_).Finish();
  }

 private:
  const Graph& source() const { return rewriter_.source(); }

  // Returns whether the node is a movement, or was applied before pending movements.
  absl::StatusOr<bool> Sink(const OperatorNode& node) {
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return false;
    const OwnedSite site = source().SiteOf(node);
    if (!HasDefaultFormats(site)) return false;
    if (std::optional<Movement> movement = node.op->AsMovement(site.inputs)) {
      Moved moved = moved_[node.inputs[0]];
      Append({source().var(node.outputs[0]).producer, *std::move(movement),
              site.inputs[0].type.shape, site.outputs[0].shape},
             moved.steps);
      moved_[node.outputs[0]] = std::move(moved);
      return true;
    }
    if (!node.op->is_pointwise()) return false;
    const std::vector<Step>* steps = nullptr;  // of all inputs that are not constant
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (source().constant(node.inputs[i]) != nullptr) continue;
      const std::vector<Step>& own = moved_[node.inputs[i]].steps;
      if (own.empty() || site.inputs[i].type.shape != site.outputs[0].shape) return false;
      if (steps != nullptr && !SameSteps(*steps, own)) return false;
      steps = &own;
    }
    if (steps == nullptr) return false;
    return ApplyToBases(node, *steps);
  }

  static bool HasDefaultFormats(const OwnedSite& site) {
    for (const InputInfo& input : site.inputs) {
      if (input.type.format != Format::kDefault) return false;
    }
    return site.outputs[0].format == Format::kDefault;
  }

  absl::StatusOr<bool> ApplyToBases(const OperatorNode& node, std::vector<Step> steps) {
    std::vector<int> inputs;
    for (const int input : node.inputs) {
      const HostTensor* const constant = source().constant(input);
      if (constant == nullptr) {
        inputs.push_back(moved_[input].base);
        continue;
      }
      std::optional<HostTensor> back = MovedBack(*constant, steps);
      if (!back) return false;
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          rewriter_.builder().Add(operators_.MakeConstant(*std::move(back)), {}));
      inputs.push_back(made[0]);
    }
    // The output's own id and name belong to the var after the movements.
    GraphBuilder::NodeOptions options;
    options.name = node.name;
    options.priority = node.priority;
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> made,
        rewriter_.builder().Add(node.op, std::move(inputs), std::move(options)));
    moved_[node.outputs[0]] = {made[0], std::move(steps)};
    return true;
  }

  // Returns the var of the result for `var` after all movements.
  absl::StatusOr<int> Arrived(int var) {
    const auto [entry, is_new] = arrived_.try_emplace(var, moved_[var].base);
    if (!is_new) return entry->second;
    for (const Step& step : moved_[var].steps) {
      const OperatorNode& node = source().node(step.node);
      std::vector<int> inputs = {entry->second};
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        ASHLAR_ASSIGN_OR_RETURN(const int constant, Arrived(node.inputs[i]));
        inputs.push_back(constant);
      }
      GraphBuilder::NodeOptions options;
      if (source().var(var).producer == step.node) options = rewriter_.Identity(node);
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> made,
          rewriter_.builder().Add(node.op, std::move(inputs), std::move(options)));
      entry->second = made[0];
    }
    return entry->second;
  }

  GraphRewriter rewriter_;
  const OperatorTable& operators_;
  std::vector<Moved> moved_;    // by source var
  std::map<int, int> arrived_;  // source vars that were requested
};

// Returns the number of elements that movements reorder.
int64_t MovedElements(const Graph& graph) {
  int64_t elements = 0;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1) continue;
    const OwnedSite site = graph.SiteOf(node);
    const std::optional<Movement> movement = node.op->AsMovement(site.inputs);
    if (movement && !movement->axes.empty()) elements += site.outputs[0].shape.num_elements();
  }
  return elements;
}

}  // namespace

absl::StatusOr<Graph> SinkMovements(const Graph& graph, const OperatorTable& operators) {
  const int64_t before = MovedElements(graph);
  if (before == 0) return graph;
  ASHLAR_ASSIGN_OR_RETURN(Graph sunk, MovementSinker(graph, operators).Run());
  return MovedElements(sunk) < before ? std::move(sunk) : graph;
}

}  // namespace ashlar

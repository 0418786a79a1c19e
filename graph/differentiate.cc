// Reverse-mode differentiation (Linnainmaa 1970; Griewank and Walther 2008, "Evaluating
// Derivatives", chapter 3) as a rewrite of the graph. Only the tensors that the gradients'
// operators read are saved for the backward pass.
#include "graph/differentiate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

class Differentiation {
 public:
  Differentiation(GraphBuilder& builder, const OperatorTable& operators)
      : builder_(builder), operators_(operators) {}

  // Starts from `output`, whose gradient is `seed`, or 1 if there is no seed.
  absl::StatusOr<std::vector<std::optional<int>>> Run(int output, std::optional<int> seed,
                                                      absl::Span<const int> wrt);

 private:
  class Context;

  const Graph& graph() const { return builder_.graph(); }
  const TensorType& type(int var) const { return graph().var(var).type; }
  // Returns whether the gradient with respect to this var is requested, or is needed for one that
  // is.
  bool Wanted(int var) const {
    return static_cast<size_t>(var) < wanted_.size() && wanted_[static_cast<size_t>(var)];
  }
  bool Wants(const OperatorNode& node, int input) const {
    return node.op->input_use(input) == InputUse::kDeviceValue && Wanted(node.inputs[input]);
  }
  bool WantsAny(const OperatorNode& node) const;
  std::optional<int> GradientOf(int var) const {
    const auto found = gradients_.find(var);
    return found == gradients_.end() ? std::nullopt : std::optional<int>(found->second);
  }

  // Marks the floating-point outputs of nodes [first, last) that depend on a marked var.
  void MarkDependents(int first, int last);
  // Applies the rules of nodes [first, last), the last node first.
  absl::Status Walk(int first, int last);
  absl::Status Visit(int node);
  // Differentiates a node without a rule through its composition; returns false if it has none.
  absl::StatusOr<bool> VisitComposition(const OperatorNode& node);
  // Adds a term to the gradient with respect to a var.
  absl::Status Accumulate(int var, int gradient);
  // Continues past a node without a rule, so that all such nodes are found.
  absl::Status Pretend(const OperatorNode& node);

  GraphBuilder& builder_;
  const OperatorTable& operators_;
  std::vector<bool> wanted_;                 // by var
  absl::flat_hash_map<int, int> gradients_;  // by var
  std::vector<std::string> missing_;         // nodes without a rule
};

// The context of one node's rule. It copies the node because the graph grows while the rule runs.
class Differentiation::Context final : public GradientContext {
 public:
  Context(Differentiation& all, const OperatorNode& node) : all_(all), node_(node) {}

  absl::Span<const int> inputs() const override { return node_.inputs; }
  absl::Span<const int> outputs() const override { return node_.outputs; }
  const TensorType& type(int var) const override { return all_.type(var); }
  const HostTensor* value(int var) const override { return all_.builder_.StaticValue(var); }
  std::optional<int> gradient(int output) const override {
    return all_.GradientOf(node_.outputs[output]);
  }
  bool wants(int input) const override { return all_.Wants(node_, input); }

  absl::StatusOr<std::vector<int>> Add(OperatorPtr op, std::vector<int> inputs) override {
    return all_.builder_.Add(std::move(op), std::move(inputs));
  }
  absl::StatusOr<int> Constant(HostTensor value) override {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> vars,
                            Add(all_.operators_.MakeConstant(std::move(value)), {}));
    return vars[0];
  }
  absl::Status SetGradient(int input, int var) override {
    if (!wants(input)) return absl::OkStatus();
    const TensorType &of = type(node_.inputs[input]), &given = type(var);
    if (of != given) {
      return absl::InternalError(absl::StrCat(Describe(node_), ": the gradient of input ", input,
                                              " is ", given.ToString(), ", expected ",
                                              of.ToString()));
    }
    return all_.Accumulate(node_.inputs[input], var);
  }

 private:
  Differentiation& all_;
  const OperatorNode& node_;
};

bool Differentiation::WantsAny(const OperatorNode& node) const {
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (Wants(node, i)) return true;
  }
  return false;
}

void Differentiation::MarkDependents(int first, int last) {
  wanted_.resize(graph().vars().size(), false);
  for (int n = first; n < last; ++n) {
    const OperatorNode& node = graph().node(n);
    if (!WantsAny(node)) continue;
    for (const int output : node.outputs) {
      if (IsFloat(type(output).dtype)) wanted_[static_cast<size_t>(output)] = true;
    }
  }
}

absl::Status Differentiation::Accumulate(int var, int gradient) {
  const auto [found, first] = gradients_.emplace(var, gradient);
  if (first) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(OperatorPtr add,
                          operators_.Make("Elemwise", {{"mode", std::string("ADD")}}));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> sum,
                          builder_.Add(std::move(add), {found->second, gradient}));
  gradients_[var] = sum[0];
  return absl::OkStatus();
}

absl::Status Differentiation::Pretend(const OperatorNode& node) {
  missing_.push_back(Describe(node, kLongestUncheckedName));
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (!Wants(node, i) || GradientOf(node.inputs[i])) continue;
    const TensorType of = type(node.inputs[i]);
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<int> nothing,
        builder_.Add(operators_.MakeConstant(HostTensor::ShapeOnly(of.dtype, of.shape)), {}));
    gradients_[node.inputs[i]] = nothing[0];
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Differentiation::VisitComposition(const OperatorNode& node) {
  const auto first = static_cast<int>(graph().nodes().size());
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made, node.op->Compose(builder_, node.inputs));
  if (made.empty()) return false;
  if (made.size() != node.outputs.size()) {
    return absl::InternalError(absl::StrCat(Describe(node), ": its composition has other outputs"));
  }
  const auto last = static_cast<int>(graph().nodes().size());
  MarkDependents(first, last);
  for (size_t i = 0; i < made.size(); ++i) {
    const std::optional<int> gradient = GradientOf(node.outputs[i]);
    if (gradient && Wanted(made[i])) ASHLAR_RETURN_IF_ERROR(Accumulate(made[i], *gradient));
  }
  ASHLAR_RETURN_IF_ERROR(Walk(first, last));
  return true;
}

absl::Status Differentiation::Visit(int index) {
  const OperatorNode node = graph().node(index);
  const bool reached = std::any_of(node.outputs.begin(), node.outputs.end(),
                                   [&](int output) { return GradientOf(output).has_value(); });
  if (!reached || !WantsAny(node)) return absl::OkStatus();
  Context context(*this, node);
  absl::Status status = node.op->Gradient(context);
  if (status.code() == absl::StatusCode::kUnimplemented) {
    ASHLAR_ASSIGN_OR_RETURN(const bool composed, VisitComposition(node));
    return composed ? absl::OkStatus() : Pretend(node);
  }
  return Annotate(status, absl::StrCat("gradient of ", Describe(node, kLongestUncheckedName)));
}

absl::Status Differentiation::Walk(int first, int last) {
  for (int n = last - 1; n >= first; --n) ASHLAR_RETURN_IF_ERROR(Visit(n));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::optional<int>>> Differentiation::Run(int output,
                                                                     std::optional<int> seed,
                                                                     absl::Span<const int> wrt) {
  const auto vars = static_cast<int>(graph().vars().size());
  const auto nodes = static_cast<int>(graph().nodes().size());
  const auto floats = [&](int var) { return var >= 0 && var < vars && IsFloat(type(var).dtype); };
  const auto text = [&](int var) {
    return var < 0 || var >= vars ? std::string("no var") : type(var).ToString();
  };
  if (!floats(output) || (!seed && type(output).shape.num_elements() != 1)) {
    return absl::InvalidArgumentError(absl::StrCat("the ", seed ? "output" : "loss", " is ",
                                                   text(output), ", expected ",
                                                   seed ? "a var" : "one element", " of floats"));
  }
  if (seed && (!floats(*seed) || type(*seed) != type(output))) {
    return absl::InvalidArgumentError(absl::StrCat("the gradient by the output is ", text(*seed),
                                                   ", expected ", type(output).ToString()));
  }
  wanted_.assign(static_cast<size_t>(vars), false);
  for (const int var : wrt) {
    if (!floats(var)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a gradient by ", text(var), ", expected a var of floats"));
    }
    wanted_[static_cast<size_t>(var)] = true;
  }
  MarkDependents(0, nodes);
  if (Wanted(output)) {
    if (!seed) {
      HostTensor one = HostTensor::Zeros(type(output).dtype, type(output).shape);
      one.Set(0, 1);
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                              builder_.Add(operators_.MakeConstant(std::move(one)), {}));
      seed = made[0];
    }
    gradients_[output] = *seed;
    ASHLAR_RETURN_IF_ERROR(Walk(0, graph().var(output).producer + 1));
  }
  if (!missing_.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("no gradient is known of ", absl::StrJoin(missing_, ", ")));
  }
  std::vector<std::optional<int>> result;
  for (const int var : wrt) result.push_back(GradientOf(var));
  return result;
}

}  // namespace

absl::StatusOr<std::vector<std::optional<int>>> Differentiate(GraphBuilder& builder, int loss,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators) {
  return Differentiation(builder, operators).Run(loss, std::nullopt, wrt);
}

absl::StatusOr<std::vector<std::optional<int>>> BackPropagate(GraphBuilder& builder, int output,
                                                              int gradient,
                                                              absl::Span<const int> wrt,
                                                              const OperatorTable& operators) {
  return Differentiation(builder, operators).Run(output, gradient, wrt);
}

}  // namespace ashlar

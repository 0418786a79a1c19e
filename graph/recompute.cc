#include "graph/recompute.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/rewriter.h"
#include "graph/state.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr int64_t kFewOperations = 16;  // an element
// Nodes that are made again for one var, at most: chains of sums are made again as a whole.
constexpr size_t kLongestChain = 64;
// A var that is at least so many times as small as what it is made of is made where that is, and
// kept.
constexpr int64_t kMuchSmaller = 4;

int64_t BytesOf(const Graph& graph, int var) { return graph.var(var).type.bytes(); }

bool ReadsOnDevice(const OperatorNode& node, size_t input) {
  return node.op->input_use(static_cast<int>(input)) == InputUse::kDeviceValue;
}

// The vars that a var is made of where it is made again.
struct MadeChain {
  size_t nodes = 0;
  int64_t largest = 0;       // bytes of what is made on the way
  std::vector<int> sources;  // kept vars
};

MadeChain ChainOf(const Graph& graph, int var, const MadeAgain& again) {
  MadeChain chain;
  absl::flat_hash_set<int> seen;
  std::vector<int> open = {var};
  while (!open.empty() && chain.nodes <= kLongestChain) {
    const int made = open.back();
    const OperatorNode& node = graph.node(graph.var(made).producer);
    open.pop_back();
    ++chain.nodes;
    chain.largest = std::max(chain.largest, BytesOf(graph, made));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      if (!ReadsOnDevice(node, i) || !seen.insert(input).second) continue;
      (again[input] ? open : chain.sources).push_back(input);
    }
  }
  return chain;
}

// Whether a node makes something much smaller of vars that these nodes make.
bool Summarises(const Graph& graph, const OperatorNode& node, const std::vector<bool>& nodes) {
  if (node.op->role() != Role::kCompute || !node.op->aliasing(graph.SiteOf(node)).updates.empty()) {
    return false;
  }
  int64_t read = 0, made = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!nodes[static_cast<size_t>(graph.var(node.inputs[i]).producer)]) return false;
    if (ReadsOnDevice(node, i)) read += BytesOf(graph, node.inputs[i]);
  }
  for (const int output : node.outputs) made += BytesOf(graph, output);
  return made <= read / kMuchSmaller;
}

// Vars that are there throughout, or are the caller's.
bool IsFree(const Graph& graph, int var) {
  return graph.node(graph.var(var).producer).op->role() != Role::kCompute;
}

// A node in the new order; values are vars of the source, and copies, counted on from there.
struct Placed {
  int node = 0;
  std::vector<int> inputs;
  int made = -1;  // a copy; else the node's own outputs
};

class Order {
 public:
  Order(const Graph& graph, int loss, const MadeAgain& again, int reach)
      : graph_(graph),
        again_(again),
        reach_(reach),
        towards_(NodesTowards(graph, loss)),
        use_(FindStateUse(graph)),
        next_value_(static_cast<int>(graph.vars().size())) {}

  std::vector<Placed> Make();

 private:
  bool IsMadeAgain(int var) const {
    return again_[var] && towards_[graph_.var(var).producer] && CanMakeAgain(graph_, var);
  }
  // Readers behind the loss, by var: places in `rest_`, ascending.
  void FindUses();
  // The value that a reader at this place of `rest_` gets in the place of a var.
  int ValueOf(int var, absl::flat_hash_map<int, int>& passing);
  void Place(int node, std::vector<int> inputs, int made = -1) {
    placed_.push_back({node, std::move(inputs), made});
  }
  bool IsUpdate(int node) const;
  void MoveUpdates();

  const Graph& graph_;
  const MadeAgain& again_;
  const int reach_;
  const std::vector<bool> towards_;
  const StateUse use_;
  std::vector<int> rest_;
  std::vector<std::vector<int>> uses_;
  absl::flat_hash_map<int, int> there_;  // by var: its copy, which serves further readers
  std::vector<Placed> placed_;
  int next_value_;
};

void Order::FindUses() {
  uses_.resize(graph_.vars().size());
  for (size_t place = 0; place < rest_.size(); ++place) {
    const OperatorNode& node = graph_.node(rest_[place]);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (ReadsOnDevice(node, i)) uses_[node.inputs[i]].push_back(static_cast<int>(place));
    }
  }
}

int Order::ValueOf(int var, absl::flat_hash_map<int, int>& passing) {
  if (!IsMadeAgain(var)) return var;
  for (const auto* copies : {&there_, &passing}) {
    if (const auto found = copies->find(var); found != copies->end()) return found->second;
  }
  const int index = graph_.var(var).producer;
  const OperatorNode& node = graph_.node(index);
  std::vector<int> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(ReadsOnDevice(node, i) ? ValueOf(node.inputs[i], passing) : node.inputs[i]);
  }
  const int made = next_value_++;
  Place(index, std::move(inputs), made);
  (IsCheap(graph_, var) ? passing : there_).emplace(var, made);
  return made;
}

bool Order::IsUpdate(int node) const {
  const OperatorNode& n = graph_.node(node);
  return use_.updates[node] && std::all_of(n.outputs.begin(), n.outputs.end(), [&](int output) {
           return graph_.readers(output).empty();
         });
}

// An update frees the gradient that it reads, so it comes as early as the readers of its states let
// it.
void Order::MoveUpdates() {
  absl::flat_hash_map<int, size_t> last_of_value, last_of_state;  // places behind which it is free
  const auto state_of = [&](int value) {
    return static_cast<size_t>(value) < use_.state.size() ? use_.state[value] : -1;
  };
  std::vector<std::vector<Placed>> behind(placed_.size() + 1);
  for (size_t p = 0; p < placed_.size(); ++p) {
    const Placed& placed = placed_[p];
    if (placed.made >= 0) last_of_value[placed.made] = p + 1;
    if (placed.made < 0) {
      for (const int output : graph_.node(placed.node).outputs) last_of_value[output] = p + 1;
      if (IsUpdate(placed.node)) continue;
    }
    for (const int input : placed.inputs) {
      if (state_of(input) >= 0) last_of_state[state_of(input)] = p + 1;
    }
  }
  std::vector<Placed> order;
  for (const Placed& placed : placed_) {
    if (placed.made >= 0 || !IsUpdate(placed.node)) continue;
    size_t place = 0;
    for (const int input : placed.inputs) {
      place = std::max(place, last_of_value[input]);
      if (state_of(input) >= 0) place = std::max(place, last_of_state[state_of(input)]);
    }
    behind[place].push_back(placed);
  }
  for (size_t p = 0; p <= placed_.size(); ++p) {
    order.insert(order.end(), behind[p].begin(), behind[p].end());
    if (p == placed_.size()) break;
    if (placed_[p].made >= 0 || !IsUpdate(placed_[p].node)) order.push_back(placed_[p]);
  }
  placed_ = std::move(order);
}

std::vector<Placed> Order::Make() {
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    const int node = static_cast<int>(n);
    // States and constants are there throughout.
    const bool first = towards_[n] || graph_.node(node).inputs.empty();
    first ? Place(node, graph_.node(node).inputs) : rest_.push_back(node);
  }
  FindUses();
  for (size_t place = 0; place < rest_.size(); ++place) {
    const OperatorNode& node = graph_.node(rest_[place]);
    absl::flat_hash_map<int, int> passing;
    std::vector<int> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int var = node.inputs[i];
      inputs.push_back(ReadsOnDevice(node, i) ? ValueOf(var, passing) : var);
    }
    for (const int var : node.inputs) {
      const std::vector<int>& uses = uses_[var];
      const auto next = std::upper_bound(uses.begin(), uses.end(), static_cast<int>(place));
      const bool soon = next != uses.end() && *next <= static_cast<int>(place) + reach_;
      if (const auto found = passing.find(var); found != passing.end() && soon) {
        there_.insert(*found);
      } else if (!soon && IsCheap(graph_, var)) {
        there_.erase(var);
      }
    }
    Place(rest_[place], std::move(inputs));
  }
  MoveUpdates();
  return std::move(placed_);
}

}  // namespace

std::vector<bool> NodesTowards(const Graph& graph, int var) {
  std::vector<bool> towards(graph.nodes().size(), false);
  towards[graph.var(var).producer] = true;
  for (int n = graph.var(var).producer; n >= 0; --n) {
    if (!towards[n]) continue;
    for (const int input : graph.node(n).inputs) towards[graph.var(input).producer] = true;
  }
  for (size_t n = 0; n < towards.size(); ++n) {
    if (!towards[n]) towards[n] = Summarises(graph, graph.node(static_cast<int>(n)), towards);
  }
  return towards;
}

bool CanMakeAgain(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  return node.op->role() == Role::kCompute && node.outputs.size() == 1 &&
         node.op->aliasing(graph.SiteOf(node)).updates.empty();
}

bool IsCheap(const Graph& graph, int var) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  return node.op->Computation(graph.SiteOf(node)) / kFewOperations <=
         graph.var(var).type.shape.num_elements();
}

MadeAgain CheapToMakeAgain(const Graph& graph, int loss) {
  const std::vector<bool> towards = NodesTowards(graph, loss);
  std::vector<bool> kept(graph.vars().size(), false);  // as something behind the loss reads it
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    for (size_t i = 0; i < node.inputs.size() && !towards[n]; ++i) {
      const int var = node.inputs[i];
      if (ReadsOnDevice(node, i) && towards[graph.var(var).producer]) kept[var] = true;
    }
  }
  MadeAgain again(graph.vars().size(), false);
  for (size_t v = 0; v < graph.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    if (!towards[graph.var(var).producer] || !CanMakeAgain(graph, var) || !IsCheap(graph, var)) {
      continue;
    }
    again[v] = true;
    if (!kept[v]) continue;  // passed through where something else is made again
    const MadeChain chain = ChainOf(graph, var, again);
    int64_t more = 0;
    for (const int source : chain.sources) {
      if (!kept[source] && !IsFree(graph, source)) more += BytesOf(graph, source);
    }
    again[v] = chain.nodes <= kLongestChain && more < BytesOf(graph, var) &&
               chain.largest / kMuchSmaller < BytesOf(graph, var);
    if (!again[v]) continue;
    for (const int source : chain.sources) kept[source] = true;
    kept[v] = false;
  }
  return again;
}

absl::StatusOr<Graph> Recompute(const Graph& graph, int loss, const MadeAgain& again, int reach) {
  const std::vector<Placed> order = Order(graph, loss, again, reach).Make();
  GraphRewriter rewriter(graph);
  GraphBuilder& builder = rewriter.builder();
  absl::flat_hash_map<int, int> copies;
  for (const Placed& placed : order) {
    const OperatorNode& node = graph.node(placed.node);
    std::vector<int> inputs;
    for (const int value : placed.inputs) {
      const auto copy = copies.find(value);
      inputs.push_back(copy == copies.end() ? rewriter.Map(value) : copy->second);
    }
    GraphBuilder::NodeOptions options;
    if (placed.made >= 0) {
      options.name = absl::StrCat(node.name, ".again");
      options.priority = node.priority;
    } else {
      options = rewriter.Identity(node);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(node.op, std::move(inputs), std::move(options)));
    if (placed.made >= 0) {
      copies.emplace(placed.made, made[0]);
      continue;
    }
    for (size_t i = 0; i < made.size(); ++i) rewriter.Replace(node.outputs[i], made[i]);
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar

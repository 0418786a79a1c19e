#include "graph/recompute_order.h"

#include <algorithm>
#include <utility>

namespace ashlar {

OrderMaker::OrderMaker(const Graph& graph, int loss)
    : graph_(graph),
      use_(FindStateUse(graph)),
      uses_(graph.vars().size()),
      copies_(graph.vars().size()),
      there_(graph.vars().size()),
      passing_(graph.vars().size()),
      when_(graph.vars().size()) {
  const std::vector<bool> towards = NodesTowards(graph, loss);
  for (size_t v = 0; v < graph.vars().size(); ++v) {
    const int var = static_cast<int>(v);
    can_.push_back(towards[static_cast<size_t>(graph.var(var).producer)] &&
                   CanMakeAgain(graph, var));
  }
  std::vector<int> front;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    reads_.emplace_back();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool on_device = node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
      reads_.back().push_back({node.inputs[i], on_device});
    }
    is_update_.push_back(use_.updates[n] &&
                         std::all_of(node.outputs.begin(), node.outputs.end(),
                                     [&](int output) { return graph.readers(output).empty(); }));
    // States and constants exist throughout.
    (towards[n] || node.inputs.empty() ? front : rest_).push_back(static_cast<int>(n));
  }
  for (size_t place = 0; place < rest_.size(); ++place) {
    for (const Reading& reading : reads_[static_cast<size_t>(rest_[place])]) {
      if (reading.on_device) {
        uses_[static_cast<size_t>(reading.var)].push_back(static_cast<int>(place));
      }
    }
  }
  for (const int node : front) {
    for (const Reading& reading : reads_[static_cast<size_t>(node)]) values_.push_back(reading.var);
    Place(node, -1, 0);
  }
  first_ = order_.placed.size();
}

void OrderMaker::Place(int node, int made, size_t from) {
  order_.placed.push_back({node, made, order_.inputs.size()});
  order_.inputs.insert(order_.inputs.end(), values_.begin() + static_cast<std::ptrdiff_t>(from),
                       values_.end());
  values_.resize(from);
}

int OrderMaker::NextUse(int var, int place) const {
  const std::vector<int>& uses = uses_[static_cast<size_t>(var)];
  const auto next = std::upper_bound(uses.begin(), uses.end(), place);
  return next == uses.end() ? -1 : *next;
}

int OrderMaker::ValueOf(int var) {
  const auto v = static_cast<size_t>(var);
  if (!IsMadeAgain(var)) return var;
  if (there_[v] >= 0) return there_[v];
  if (when_[v] == now_) return passing_[v];
  const int node = graph_.var(var).producer;
  const size_t from = values_.size();
  for (const Reading& reading : reads_[static_cast<size_t>(node)]) {
    const int value = reading.on_device ? ValueOf(reading.var) : reading.var;
    values_.push_back(value);
  }
  const int made = order_.values++;
  Place(node, made, from);
  ++copies_[v];
  if (Stays(var)) {
    there_[v] = made;
  } else {
    passing_[v] = made;
    when_[v] = now_;
  }
  return made;
}

const OrderWithCopies& OrderMaker::Make(const MadeAgain& again, int reach) {
  again_ = &again;
  order_.placed.resize(first_);
  order_.inputs.resize(first_ == 0
                           ? 0
                           : order_.placed.back().first_input +
                                 reads_[static_cast<size_t>(order_.placed.back().node)].size());
  order_.begins.clear();
  order_.values = static_cast<int>(graph_.vars().size());
  std::fill(copies_.begin(), copies_.end(), 0);
  std::fill(there_.begin(), there_.end(), -1);
  std::fill(when_.begin(), when_.end(), -1);
  for (size_t place = 0; place < rest_.size(); ++place) {
    now_ = static_cast<int>(place);
    order_.begins.push_back(order_.placed.size());
    const std::vector<Reading>& reads = reads_[static_cast<size_t>(rest_[place])];
    for (const Reading& reading : reads) {
      const int value = reading.on_device ? ValueOf(reading.var) : reading.var;
      values_.push_back(value);
    }
    for (const Reading& reading : reads) {
      const auto v = static_cast<size_t>(reading.var);
      if (!IsMadeAgain(reading.var)) continue;
      const int next = NextUse(reading.var, now_);
      const bool soon = next >= 0 && next <= now_ + reach;
      if (when_[v] == now_ && soon) {
        if (there_[v] < 0) there_[v] = passing_[v];
      } else if (!soon && !Stays(reading.var)) {
        there_[v] = -1;
      }
    }
    Place(rest_[place], -1, 0);
  }
  return order_;
}

// An update frees the gradient that it reads, so it comes as early as the readers of its states
// allow.
OrderWithCopies OrderMaker::MakeWithUpdates(const MadeAgain& again, int reach) {
  const OrderWithCopies& order = Make(again, reach);
  const std::vector<OrderWithCopies::Placed>& placed = order.placed;
  // The positions after which a value is available, and after which a version of a state may be
  // changed.
  std::vector<size_t> last_of_value(static_cast<size_t>(order.values), 0),
      last_of_state(graph_.vars().size(), 0);
  const auto updates = [&](size_t p) { return placed[p].made < 0 && IsUpdate(placed[p].node); };
  const auto state_of = [&](int value) {
    return static_cast<size_t>(value) < use_.state.size() ? use_.state[static_cast<size_t>(value)]
                                                          : -1;
  };
  const auto inputs = [&](size_t p) {
    return absl::MakeConstSpan(order.inputs)
        .subspan(placed[p].first_input, reads_[static_cast<size_t>(placed[p].node)].size());
  };
  for (size_t p = 0; p < placed.size(); ++p) {
    if (placed[p].made >= 0) {
      last_of_value[static_cast<size_t>(placed[p].made)] = p + 1;
    } else {
      for (const int output : graph_.node(placed[p].node).outputs) {
        last_of_value[static_cast<size_t>(output)] = p + 1;
      }
    }
    if (updates(p)) continue;
    for (const int input : inputs(p)) {
      if (state_of(input) >= 0) last_of_state[static_cast<size_t>(state_of(input))] = p + 1;
    }
  }
  std::vector<std::vector<size_t>> behind(placed.size() + 1);
  for (size_t p = 0; p < placed.size(); ++p) {
    if (!updates(p)) continue;
    size_t place = 0;
    for (const int input : inputs(p)) {
      place = std::max(place, last_of_value[static_cast<size_t>(input)]);
      if (state_of(input) < 0) continue;
      place = std::max(place, last_of_state[static_cast<size_t>(state_of(input))]);
    }
    behind[place].push_back(p);
  }
  OrderWithCopies moved;
  moved.inputs = order.inputs;
  moved.values = order.values;
  for (size_t p = 0; p <= placed.size(); ++p) {
    for (const size_t update : behind[p]) moved.placed.push_back(placed[update]);
    if (p < placed.size() && !updates(p)) moved.placed.push_back(placed[p]);
  }
  return moved;
}

}  // namespace ashlar

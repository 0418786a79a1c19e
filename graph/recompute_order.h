// The order of a training step with recomputed vars, as lists of numbers: many orders are compared
// before one graph is built.
#ifndef ASHLAR_GRAPH_RECOMPUTE_ORDER_H_
#define ASHLAR_GRAPH_RECOMPUTE_ORDER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/recompute_choice.h"
#include "graph/state.h"

namespace ashlar {

// An order of nodes. Values are the source's vars, followed by the copies.
struct OrderWithCopies {
  struct Placed {
    int node = 0;
    int made = -1;           // the value of a copy; -1: the node computes its own outputs
    size_t first_input = 0;  // in `inputs`, as many as the node reads
  };
  std::vector<Placed> placed;
  std::vector<int> inputs;
  std::vector<size_t> begins;  // by node after the loss: the position of its first copy
  int values = 0;              // the largest value plus one
};

// Makes orders for a graph. Everything that the orders share is computed once.
class OrderMaker {
 public:
  OrderMaker(const Graph& graph, int loss);

  // Orders as Recompute does, but state updates stay at their place in the graph.
  const OrderWithCopies& Make(const MadeAgain& again, int reach);
  // Orders as Recompute does: updates follow directly after the nodes they wait for.
  OrderWithCopies MakeWithUpdates(const MadeAgain& again, int reach);

  // Returns the number of nodes before the loss, and the nodes after it in the order of Make.
  size_t nodes_to_the_loss() const { return first_; }
  const std::vector<int>& nodes_behind() const { return rest_; }
  // Returns whether a node does nothing except change states.
  bool IsUpdate(int node) const { return is_update_[static_cast<size_t>(node)]; }

 private:
  struct Reading {
    int var = 0;
    bool on_device = false;
  };

  bool IsMadeAgain(int var) const {
    return (*again_)[static_cast<size_t>(var)] != kKept && can_[static_cast<size_t>(var)];
  }
  // Returns whether the latest copy of a var stays.
  bool Stays(int var) const {
    const int times = (*again_)[static_cast<size_t>(var)];
    return times != kAnew && copies_[static_cast<size_t>(var)] >= times;
  }
  // Returns the value that a reader of `var` reads, and places the copies that it needs.
  int ValueOf(int var);
  void Place(int node, int made,
             size_t from);  // the inputs are values_[from..], which are removed
  // Returns the next position after `place` that reads `var`; -1 if there is none.
  int NextUse(int var, int place) const;

  const Graph& graph_;
  const StateUse use_;
  std::vector<std::vector<Reading>> reads_;  // by node
  std::vector<bool> can_;                    // by var
  std::vector<bool> is_update_;              // by node
  std::vector<int> rest_;                    // nodes after the loss
  std::vector<std::vector<int>> uses_;       // by var: places in rest_, ascending
  size_t first_ = 0;

  OrderWithCopies order_;
  const MadeAgain* again_ = nullptr;
  std::vector<int> copies_;          // by var: made so far
  std::vector<int> there_;           // by var: a copy for further readers, or -1
  std::vector<int> passing_, when_;  // by var: a copy for one reader, and that reader's number
  int now_ = 0;
  std::vector<int> values_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RECOMPUTE_ORDER_H_

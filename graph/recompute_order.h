// The order of a step in which vars are made again, as lists of numbers: many such orders are
// compared before the graph of one is built.
#ifndef ASHLAR_GRAPH_RECOMPUTE_ORDER_H_
#define ASHLAR_GRAPH_RECOMPUTE_ORDER_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/recompute.h"
#include "graph/state.h"

namespace ashlar {

// Nodes in an order. Values are vars of the source, and copies, counted on from there.
struct OrderWithCopies {
  struct Placed {
    int node = 0;
    int made = -1;           // the value of a copy; else the node makes its own outputs
    size_t first_input = 0;  // in `inputs`, as many as the node reads
  };
  std::vector<Placed> placed;
  std::vector<int> inputs;
  std::vector<size_t> begins;  // by node behind the loss: where it and the copies for it begin
  int values = 0;              // one more than the largest
};

// Makes orders for a graph; what all of them have alike is found once.
class OrderMaker {
 public:
  OrderMaker(const Graph& graph, int loss);

  // As Recompute says, but updates of states stand where they stand in the graph.
  const OrderWithCopies& Make(const MadeAgain& again, int reach);
  // With updates right behind what they wait for.
  OrderWithCopies MakeWithUpdates(const MadeAgain& again, int reach);

  // Nodes in front of the loss, and nodes behind it, as Make places them.
  size_t nodes_to_the_loss() const { return first_; }
  const std::vector<int>& nodes_behind() const { return rest_; }
  // Whether a node does nothing but change states.
  bool IsUpdate(int node) const { return is_update_[static_cast<size_t>(node)]; }

 private:
  struct Reading {
    int var = 0;
    bool on_device = false;
  };

  bool IsMadeAgain(int var) const {
    return (*again_)[static_cast<size_t>(var)] != kKept && can_[static_cast<size_t>(var)];
  }
  // Whether the copy of a var that was made last stays.
  bool Stays(int var) const {
    const int times = (*again_)[static_cast<size_t>(var)];
    return times != kAnew && copies_[static_cast<size_t>(var)] >= times;
  }
  // The value that a reader gets in the place of a var; places the copies that it takes.
  int ValueOf(int var);
  void Place(int node, int made,
             size_t from);  // inputs: values_ from there on, which it takes away
  // The next place behind this one that reads a var; -1: none.
  int NextUse(int var, int place) const;

  const Graph& graph_;
  const StateUse use_;
  std::vector<std::vector<Reading>> reads_;  // by node
  std::vector<bool> can_;                    // by var
  std::vector<bool> is_update_;              // by node
  std::vector<int> rest_;                    // nodes behind the loss
  std::vector<std::vector<int>> uses_;       // by var: places in rest_, ascending
  size_t first_ = 0;

  OrderWithCopies order_;
  const MadeAgain* again_ = nullptr;
  std::vector<int> copies_;          // by var: made so far
  std::vector<int> there_;           // by var: a copy that serves further readers, or -1
  std::vector<int> passing_, when_;  // by var: a copy for one reader, and the number of that reader
  int now_ = 0;
  std::vector<int> values_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_RECOMPUTE_ORDER_H_

// Static inference of VALUE: the elements of vars that depend only on constants and shapes.
#ifndef ASHLAR_GRAPH_STATIC_VALUES_H_
#define ASHLAR_GRAPH_STATIC_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/tensor.h"

namespace ashlar {

class Graph;
struct OperatorNode;

// Evaluates on demand and remembers, for a graph that only grows. A small file must not cost much:
// values are unknown beyond a total of bytes, in proportion to the bytes of the constants that they
// come from, and of operations.
class StaticValues {
 public:
  // Null where the value is not known. The pointer lives until the next var is added to the graph.
  const HostTensor* Find(const Graph& graph, int var);

 private:
  enum class State : uint8_t { kNew, kOpen, kSettled };
  struct Entry {
    State state = State::kNew;
    std::optional<HostTensor> value;  // kSettled: where it is known
  };

  // The outputs of a node whose inputs are settled; empty where they are not known.
  std::vector<HostTensor> Evaluate(const Graph& graph, const OperatorNode& node);
  // Counts the bytes of a constant: each byte once, however many constants share it.
  void Cover(const HostTensor& constant);

  std::vector<Entry> entries_;              // by var
  std::map<uintptr_t, uintptr_t> covered_;  // disjoint ranges of addresses: begin to end
  int64_t covered_bytes_ = 0;
  int64_t evaluated_bytes_ = 0;
  int64_t operations_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STATIC_VALUES_H_

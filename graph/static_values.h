// Static value inference: computes vars that depend on constants and shapes only.
#ifndef ASHLAR_GRAPH_STATIC_VALUES_H_
#define ASHLAR_GRAPH_STATIC_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor.h"

namespace ashlar {

// Evaluates on demand and caches, for a graph that only grows. To keep small files cheap, values
// are unknown beyond a limit of operations and of bytes. The limit of bytes is proportional to the
// bytes of the constants that the values come from.
class StaticValues {
 public:
  // Returns null if the value is not known. The pointer is valid until the next var is added to the
  // graph.
  const HostTensor* Find(const Graph& graph, int var);

 private:
  enum class State : uint8_t { kNew, kOpen, kSettled };
  struct Entry {
    State state = State::kNew;
    std::optional<HostTensor> value;  // kSettled: set if known
  };

  // Evaluates a node whose inputs are settled; empty if the outputs are not known.
  std::vector<HostTensor> Evaluate(const Graph& graph, const OperatorNode& node);
  // Counts the bytes of a constant; bytes that constants share count once.
  void Cover(const HostTensor& constant);

  std::vector<Entry> entries_;              // by var
  std::map<uintptr_t, uintptr_t> covered_;  // disjoint address ranges: begin to end
  int64_t covered_bytes_ = 0;
  int64_t evaluated_bytes_ = 0;
  int64_t operations_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STATIC_VALUES_H_

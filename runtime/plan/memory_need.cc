#include "runtime/plan/memory_need.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

// Of the heap, for a node of the planned graph: itself, its kernel, its step.
constexpr int64_t kNodeBytes = 1024;

}  // namespace

std::string MemoryNeed::ToString() const {
  std::string text;
  const auto add = [&](const char* what, int64_t bytes) {
    if (bytes > 0) absl::StrAppend(&text, text.empty() ? "" : ", ", what, " ", bytes);
  };
  add("arena", arena);
  add("weights", weights);
  add("weights in the file", file);
  add("state", state);
  add("input", input);
  add("output", output);
  add("while packing", packing);
  add("process", process);
  return text;
}

MemoryNeed NeedOf(const PlannedGraph& planned, int64_t process_bytes, bool in_file) {
  MemoryNeed need;
  need.arena = planned.plan.plan.arena;
  (in_file ? need.file : need.weights) = planned.weights.bytes;
  need.state = planned.state.bytes;
  need.input = planned.input_bytes();
  need.output = planned.output_bytes();
  need.process = process_bytes + kNodeBytes * static_cast<int64_t>(planned.graph.nodes().size());
  if (in_file) return need;
  // The arena is not touched, and outputs are not there, while weights are packed.
  const int64_t packing = PackingPeak(planned.graph, planned.weights);
  need.packing = std::max<int64_t>(packing - need.arena - need.weights - need.output, 0);
  return need;
}

}  // namespace ashlar

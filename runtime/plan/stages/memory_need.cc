#include "runtime/plan/stages/memory_need.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {
namespace {

// Heap bytes for a node of the planned graph while it runs: the node, its kernel, its step.
constexpr int64_t kNodeBytes = 9 << 8;
// Bytes of streaming weights: its code, and the stacks of the threads that read.
constexpr int64_t kStreaming = 512 << 10;
// Bytes that packing weights takes of code, and that plans which were tried before leave in the
// heap; and bytes by which the code that a run reads differs between processors and systems.
constexpr int64_t kPacking = 512 << 10, kCode = 512 << 10;
// Heap bytes that a search for tiles leaves unused between the parts of its plan, and that a search
// for another rewrite leaves between the parts of both plans.
constexpr int64_t kSearchLeaves = 1 << 20, kNextSearchLeaves = 3 << 20;
// Bytes that the process takes before a run more than in it, when the pools of the run are empty,
// measured with the zoo's models:
// - kStarting: code, until the command begins. It depends on how the system keeps the file: 3.9 to
//   5.2 MiB on Linux 6.18;
// - kPlanning: code that only planning executes. The pages of each phase are let go of;
// - kPlanningNode: by node, the heap of the model's graph and its rewrites, and code for it;
// - kOrdering, kOrderingNode: the same before the order of the nodes is searched for;
// - kAround: for each constant that is read, the pages of the file that the system maps around it.
constexpr int64_t kStarting = 5300 << 10, kPlanning = 4000 << 10, kPlanningNode = 6 << 10;
constexpr int64_t kOrdering = 3050 << 10, kOrderingNode = 1 << 10;
constexpr int64_t kAround = 36 << 10;
// Bytes of plans made at the same time, with an exact search for the best.
constexpr int64_t kSearch = 3 << 20, kSearchNode = 2 << 10;

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
  add("while planning", planning);
  return text;
}

std::string DescribeGrowth(const MemoryNeed& before, const MemoryNeed& after) {
  struct Part {
    const char* name;
    const char* cause;
    int64_t bytes;
  };
  std::vector<Part> parts = {
      {"weights", "packed for the kernels of tiles, in other forms",
       after.weights + after.file - before.weights - before.file},
      {"the peak of packing", "the arena leaves less room for it", after.packing - before.packing},
      {"the process", "its graph and plan have more operators", after.process - before.process},
      {"planning", "it searches among many plans", after.planning - before.planning}};
  std::erase_if(parts, [](const Part& part) { return part.bytes <= 0; });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  return absl::StrJoin(parts, ", ", [](std::string* text, const Part& part) {
    absl::StrAppend(text, part.name, " by ", part.bytes, " bytes (", part.cause, ")");
  });
}

int64_t PlanningBytes(const PlannedGraph& planned, int64_t process_bytes, int searched,
                      bool in_file) {
  const auto nodes = static_cast<int64_t>(planned.graph.nodes().size());
  const auto constants = static_cast<int64_t>(planned.weights.entries.size());
  // Planning reads no weights that are packed already.
  const int64_t around = in_file ? 0 : std::min(planned.weights.bytes, kAround * constants);
  const int64_t ordering = kOrdering + kOrderingNode * nodes + planned.schedule.search_bytes;
  const int64_t planning = std::max(kPlanning + kPlanningNode * nodes, ordering) + around +
                           planned.request.target.reading_bytes + planned.input_bytes() +
                           searched * (kSearch + kSearchNode * nodes);
  return process_bytes + std::max(kStarting, planning);
}

MemoryNeed NeedOf(const PlannedGraph& planned, int64_t process_bytes, bool in_file) {
  MemoryNeed need;
  need.arena = planned.plan.plan.arena;
  const bool streamed = planned.weights.window.has_value();
  (in_file && !streamed ? need.file : need.weights) = planned.weights.memory_bytes();
  need.state = planned.state.bytes;
  need.input = planned.input_bytes();
  need.output = planned.output_bytes();
  need.process = process_bytes + kNodeBytes * static_cast<int64_t>(planned.graph.nodes().size()) +
                 (streamed  ? kStreaming
                  : in_file ? kCode
                            : kPacking + kCode);
  if (planned.request.target.budget && planned.searched > 0) {
    need.process += kSearchLeaves + kNextSearchLeaves * (planned.searched - 1);
  }
  if (!in_file && !streamed) {
    // While weights are packed, the arena is not touched and outputs do not exist.
    const int64_t packing = PackingPeak(planned.graph, planned.weights);
    need.packing = std::max<int64_t>(packing - need.arena - need.weights - need.output, 0);
  }
  const int64_t planning = PlanningBytes(planned, process_bytes, planned.searched, in_file);
  need.planning = std::max<int64_t>(planning - need.total(), 0);
  return need;
}

}  // namespace ashlar

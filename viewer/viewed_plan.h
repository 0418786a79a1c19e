// A plan for the viewer: buffers with their addresses, and the steps that they live for. It comes
// from a model, from a list of buffers, or from a recorded run.
#ifndef ASHLAR_VIEWER_VIEWED_PLAN_H_
#define ASHLAR_VIEWER_VIEWED_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/planner.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

struct ViewedStep {
  std::string name, type, kernel;  // kernel: empty if none runs or it is unknown
  int64_t workspace_bytes = 0;
  double ms = -1;  // duration, estimated or measured; below 0: unknown
};

// A step that reads a buffer.
struct ViewedRead {
  int buffer = 0, step = 0;
};

// A tensor without bytes of its own, which uses a part of a buffer.
struct ViewedView {
  int buffer = 0;
  std::string name;
  int64_t offset = 0, bytes = 0;  // offset: from the begin of the buffer
};

struct ViewedPlan {
  std::string title;
  memory::Problem problem;
  std::vector<int64_t> offsets;    // bytes, one for each buffer
  std::vector<std::string> names;  // one for each buffer
  std::vector<ChunkKind> kinds;    // one for each buffer; empty: all are tensors
  std::vector<ViewedStep> steps;   // empty: only lifetimes are known
  std::vector<ViewedRead> reads;   // by buffer
  std::vector<ViewedView> views;   // by buffer
  std::vector<PassReport> passes;
  // Bytes. proven: a proven bound on all plans; budget: 0 for none.
  int64_t arena = 0, lower_bound = 0, proven = 0, budget = 0;
  int64_t weights = 0, inputs = 0, outputs = 0;
  int64_t bottleneck_step = 0;
  memory::Proof proof = memory::Proof::kNone;
  std::string planner;
  std::string tile;                    // in the form of --tile; empty: none
  double extra_flops = 0;              // as PlannedGraph::extra_flops_ratio
  std::optional<double> predicted_ms;  // of one run, if the graph is known
};

// Shows only buffers. If `names` is empty, ids are shown.
ViewedPlan ViewOf(const memory::Problem& problem, const memory::PlanResult& result,
                  std::vector<std::string> names, std::string title);

// Shows a recorded plan of a model: without reads, views, times and passes.
ViewedPlan ViewOf(const RecordedPlan& record, std::string title);

// The same, plus reads, views, times and passes of the graph; `record` was made from `planned`.
ViewedPlan ViewOf(const RecordedPlan& record, const PlannedGraph& planned, std::string title);

// Shows the window of streamed weights (WeightsPlan::window) beside the steps: each weight from the
// first step in which it may be read to its last use. The plan must have a window.
ViewedPlan ViewOfWindow(const PlannedGraph& planned, std::string title);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_VIEWED_PLAN_H_

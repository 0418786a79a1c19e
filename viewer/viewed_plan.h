// A plan as it is shown: buffers with their places, and the facts of the steps that they live
// for. It is of a model, of anybody's buffers, or of a recorded run.
#ifndef ASHLAR_VIEWER_VIEWED_PLAN_H_
#define ASHLAR_VIEWER_VIEWED_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memory/planner.h"
#include "runtime/plan/planned_graph.h"
#include "runtime/plan/recorded_plan.h"

namespace ashlar {

struct ViewedStep {
  std::string name, type, kernel;  // kernel: empty where nothing runs, or none is known
  int64_t workspace_bytes = 0;
  double ms = -1;  // that it takes, by estimate or as it was measured; below 0: unknown
};

// That a step reads a buffer.
struct ViewedRead {
  int buffer = 0, step = 0;
};

// A tensor that has no bytes of its own but some of a buffer's.
struct ViewedView {
  int buffer = 0;
  std::string name;
  int64_t offset = 0, bytes = 0;  // offset: from the buffer's begin
};

struct ViewedPlan {
  std::string title;
  memory::Problem problem;
  std::vector<int64_t> offsets;    // bytes, one for each buffer
  std::vector<std::string> names;  // one for each buffer
  std::vector<ChunkKind> kinds;    // one for each buffer; empty: all are tensors
  std::vector<ViewedStep> steps;   // empty: lifetimes are all that is known of them
  std::vector<ViewedRead> reads;   // by buffer
  std::vector<ViewedView> views;   // by buffer
  std::vector<PassReport> passes;
  // Bytes. proven: no plan has fewer; budget: 0 for none.
  int64_t arena = 0, lower_bound = 0, proven = 0, budget = 0;
  int64_t weights = 0, inputs = 0, outputs = 0;
  int64_t bottleneck_step = 0;
  memory::Proof proof = memory::Proof::kNone;
  std::string planner;
  std::string tile;  // as --tile takes it; empty: none
};

// Of buffers alone. `names` may be empty; ids stand for them then.
ViewedPlan ViewOf(const memory::Problem& problem, const memory::PlanResult& result,
                  std::vector<std::string> names, std::string title);

// Of a model's plan that was kept: without reads, views, times and passes.
ViewedPlan ViewOf(const RecordedPlan& record, std::string title);

// The same with all that the graph knows; `record` is that of `planned`.
ViewedPlan ViewOf(const RecordedPlan& record, const PlannedGraph& planned, std::string title);

}  // namespace ashlar

#endif  // ASHLAR_VIEWER_VIEWED_PLAN_H_

// Searches for the order of one segment with the least peak.
#ifndef ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_
#define ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "runtime/schedule/arena.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {

// In all of these `arena` stands before the segment, and does so again afterwards. Efforts are
// counted in steps tried (Walk::effort).

// No order of the segment has a lower peak: for each task the bytes that are live in its step
// whatever has run of the tasks that are neither before nor after it.
int64_t SegmentBound(ArenaSimulator& arena, const TaskGraph& graph, int segment);

struct ExactOrder {
  std::vector<int> order;  // empty if the effort was spent first
  int64_t bound = 0;       // the least peak if there is an order, else a lower bound
  int64_t effort = 0;      // spent
};

// Dynamic programming over the sets of tasks that can have run, least peak first: `bound` is a
// lower bound to begin with. Among orders of least peak, depth first.
ExactOrder SearchExactly(ArenaSimulator& arena, const TaskGraph& graph, int segment, int64_t bound,
                         int64_t max_effort);

// Keeps the best states by (peak, live bytes) among those with as many tasks run; how many, is
// chosen by the effort.
std::vector<int> SearchByBeam(ArenaSimulator& arena, const TaskGraph& graph, int segment,
                              int64_t bound, int64_t max_effort);

// Lowers the peak of an order of tasks that may run now, such as a segment: orders the stretches
// around its largest step anew, exactly, first short ones, then longer ones where that is no help.
void ImproveByWindows(ArenaSimulator& arena, const TaskGraph& graph, std::vector<int>& order,
                      int64_t max_effort);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_

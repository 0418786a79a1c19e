// Searches for the order of one segment with the least peak.
#ifndef ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_
#define ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "runtime/schedule/arena.h"
#include "runtime/schedule/tasks.h"

namespace ashlar {

// In all these functions `arena` is at the state before the segment, and is restored to it. Efforts
// are counted in steps tried (Walk::effort).

// Returns a lower bound on the peak of all orders of the segment. For each task it counts the bytes
// that are live in its step in any case: independent tasks may have run or not.
int64_t SegmentBound(ArenaSimulator& arena, const TaskGraph& graph, int segment);

struct ExactOrder {
  std::vector<int> order;  // empty if the effort was spent first
  int64_t bound = 0;       // the least peak if there is an order, otherwise a lower bound
  int64_t effort = 0;      // spent
};

// Finds an exact order by dynamic programming over the sets of tasks that can have run, least peak
// first. `bound` is a known lower bound. Among orders of least peak, depth first.
ExactOrder SearchExactly(ArenaSimulator& arena, const TaskGraph& graph, int segment, int64_t bound,
                         int64_t max_effort);

// Beam search: among states with the same number of tasks run, keeps the best by (peak, live
// bytes). The effort decides how many.
std::vector<int> SearchByBeam(ArenaSimulator& arena, const TaskGraph& graph, int segment,
                              int64_t bound, int64_t max_effort);

// Lowers the peak of an order of tasks that may run now, such as a segment. Reorders ranges around
// its largest step exactly, first short ones, then longer ones if that does not help.
void ImproveByWindows(ArenaSimulator& arena, const TaskGraph& graph, std::vector<int>& order,
                      int64_t max_effort);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_SEARCH_H_

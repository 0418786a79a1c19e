// Live bytes of the arena in an order of a step with copies, without building its graph: those of
// runtime/schedule/arena.h, but that parts of an output are not made at their place in it, and that
// updates of states are left out.
#ifndef ASHLAR_TRAINING_LIVE_BYTES_H_
#define ASHLAR_TRAINING_LIVE_BYTES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute_order.h"

namespace ashlar {

class LiveBytes {
 public:
  LiveBytes(const Graph& graph, const OrderMaker& maker);

  // By place of the order, the bytes during the step that stands there. Valid until the next call.
  const std::vector<int64_t>& Of(const OrderWithCopies& order);
  // Of the order that was looked at last: the last place that reads the storage that a var of the
  // graph begins, and its bytes; {-1, 0} where it begins none in the arena.
  std::pair<int, int64_t> Kept(int var) const;

 private:
  struct Made {
    int var = 0;
    int64_t bytes = 0;  // 0: none in the arena
    int view = -1;      // of this input
  };
  struct Step {
    bool runs = false;
    std::vector<Made> made;
    std::vector<int> reads;                       // inputs on the device
    std::vector<std::pair<int, int>> overwrites;  // indices in `made` and in `reads`
  };
  struct Part {
    int64_t bytes = 0;
    int last = -1;  // place of the last reader
  };

  std::vector<Step> steps_;   // by node
  std::vector<int> part_of_;  // by value, or -1
  std::vector<Part> parts_;
  std::vector<int> begins_;  // by var: the part that it begins, or -1
  std::vector<int> read_;    // parts by the order in which they are read, or -1
  std::vector<int64_t> at_;
};

// How far on cheap copies are kept for other readers, so that the peak is least: a `reach` of
// OrderMaker::Make. Which is best depends on where the peak is.
struct BestReach {
  int reach = 0;
  int64_t peak = 0;
};
BestReach FindReach(OrderMaker& maker, LiveBytes& live, const MadeAgain& again);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_LIVE_BYTES_H_

// Live bytes of the arena for an order with recomputation, without building its graph. Unlike
// runtime/schedule/arena.h it does not place slices of an output inside it, and leaves out updates
// of states.
#ifndef ASHLAR_TRAINING_LIVE_BYTES_H_
#define ASHLAR_TRAINING_LIVE_BYTES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute_choice.h"
#include "graph/recompute_order.h"

namespace ashlar {

class LiveBytes {
 public:
  LiveBytes(const Graph& graph, const OrderMaker& maker);

  // Returns the live bytes of each step, by position in the order. Valid until the next call.
  const std::vector<int64_t>& Of(const OrderWithCopies& order);
  // Looks up, in the order that was last passed to Of(), the storage that begins with var `var`.
  // Returns the position of its last reader and its bytes; {-1, 0} if the var begins no storage in
  // the arena.
  std::pair<int, int64_t> Kept(int var) const;

 private:
  struct Made {
    int var = 0;
    int64_t bytes = 0;  // 0: none in the arena
    int view = -1;      // index of the input that it is a view of
  };
  struct Step {
    bool runs = false;
    std::vector<Made> made;
    std::vector<int> reads;                       // inputs on the device
    std::vector<std::pair<int, int>> overwrites;  // indices in `made` and in `reads`
  };
  struct Part {
    int64_t bytes = 0;
    int last = -1;  // position of the last reader
  };

  std::vector<Step> steps_;   // by node
  std::vector<int> part_of_;  // by value: index of its storage, or -1
  std::vector<Part> parts_;
  std::vector<int> begins_;  // by var: the storage that begins with it, or -1
  std::vector<int> read_;    // storages in the order of reads, or -1
  std::vector<int64_t> at_;
};

// Finds how many nodes apart cheap copies are shared between readers so that the peak is least: the
// `reach` of OrderMaker::Make. The best value depends on the position of the peak.
struct BestReach {
  int reach = 0;
  int64_t peak = 0;
};
BestReach FindReach(OrderMaker& maker, LiveBytes& live, const MadeAgain& again);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_LIVE_BYTES_H_

// Branch and bound over the vertical order of pairs of rectangles: disjunctive constraints, as in
// job-shop scheduling (Carlier and Pinson 1989, "An Algorithm for Solving the Job-Shop Problem").
#ifndef ASHLAR_MEMORY_EXACT_ORDER_SEARCH_H_
#define ASHLAR_MEMORY_EXACT_ORDER_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/exact/exact_search.h"
#include "memory/problem/instance.h"
#include "memory/problem/trail.h"
#include "memory/problem/work.h"

namespace ashlar::memory {

// A complete search for all instances, including the overhangs and pauses that ExactSearch does not
// accept.
//
// Decides for two rectangles that share a section which one is below. All decisions together are
// difference constraints: "this base is at least that base plus so many bytes". So each group has a
// lowest base and, from the capacity down, a highest base.
//
// If these leave only one order of two rectangles, the pair is decided. If they leave none, the
// branch is dead. If no rectangles overlap with all groups at their lowest bases, that is a plan.
// Otherwise two overlapping rectangles are decided next. Preferred are pairs for which both orders
// push far, and pairs that failed often. Ranges of time that no group connects are solved
// separately.
class OrderSearch {
 public:
  // Returns whether there are few enough pairs that could overlap.
  static bool Accepts(const Instance& instance);

  explicit OrderSearch(const Instance& instance);

  bool complete() const { return true; }
  // Returns the smallest arena above `capacity`, in bytes, that a plan can have.
  int64_t NextArena(int64_t capacity) const { return (capacity / unit_ + 1) * unit_; }

  // kExhausted proves that nothing fits.
  SearchOutcome Run(int64_t capacity, int64_t node_limit, Work& work, int64_t deadline);

  const std::vector<int64_t>& bases() const { return low_; }
  int64_t nodes() const { return nodes_; }  // of the last run

 private:
  // Rectangles of two groups that share a section. If the second lies above, its base is at least
  // the first's plus `second_above`; otherwise the reverse with `first_above`.
  struct Pair {
    int32_t first, second;  // groups
    int64_t second_above, first_above;
  };
  enum Order : int8_t { kOpen, kSecondAbove, kFirstAbove };
  struct Decision {
    int32_t pair;
    Order order;
    bool last_way;  // the other order was tried before
    size_t mark;    // of the trail
  };
  // The bounds of a group's base, and the order of a pair.
  enum class Change : int32_t { kLow, kHigh, kOrder };
  // Groups that are connected in time, and their pairs.
  struct Part {
    int32_t first_group, last_group;  // in groups_
    int32_t first_pair, last_pair;
  };

  // Neighbouring pairs, and the one of them that FindOverlap prefers.
  struct Block {
    double score = 0;  // 0: none overlaps
    int32_t pair = 0;
    Order order = kOpen;
    bool changed = true;
  };

  void FindParts();
  void FindPairs();
  void FindBlocks();
  int64_t AlignDown(int32_t group, int64_t offset) const;
  bool Possible(const Pair& pair, Order order) const;
  bool FindOverlap(const Part& part, int32_t& pair, Order& order);
  void Judge(int32_t first, int32_t last, Block& block) const;
  void Fail(int32_t pair);
  void SetLowTo(int32_t group, int64_t base);
  bool SetLow(int32_t group, int64_t base);
  bool SetHigh(int32_t group, int64_t base);
  bool Enforce(int32_t pair, Order order);
  bool Visit(int32_t pair);
  bool Propagate();
  bool Decide(int32_t pair, Order order);
  void TakeBack(size_t mark);
  bool Backtrack();
  void SetOrder(int32_t pair, Order order);
  void Spend(int64_t pairs);
  SearchOutcome Solve(const Part& part);

  const Instance& instance_;
  int64_t unit_ = 0;             // every arena is a multiple
  std::vector<int32_t> groups_;  // groups with bytes, by part
  std::vector<Part> parts_;      // the fullest first
  std::vector<Pair> pairs_;      // by part
  // The pairs of each group, as compressed rows.
  std::vector<int32_t> first_pair_of_;
  std::vector<int32_t> pairs_of_;
  std::vector<double> failures_;  // by pair, one at first; kept from run to run
  // The blocks with pairs of each group, as compressed rows.
  std::vector<int32_t> first_block_of_;
  std::vector<int32_t> blocks_of_;

  // Values of the last run. A choice that concerns many pairs counts as several nodes.
  int64_t nodes_ = 0;
  int64_t node_limit_ = 0;
  Work* work_ = nullptr;
  int64_t deadline_ = 0;
  bool gave_up_ = false;
  int64_t pairs_to_node_ = 0;

  std::vector<int64_t> low_, high_;  // bases, by group
  std::vector<int8_t> order_;        // by pair
  std::vector<Block> blocks_;        // of kBlock pairs each
  std::vector<Decision> decisions_;
  Trail<Change> trail_;
  std::vector<int32_t> queue_;  // groups whose bounds have changed
  std::vector<char> queued_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_ORDER_SEARCH_H_

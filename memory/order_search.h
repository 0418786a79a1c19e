// Branch and bound over which of two rectangles is below: disjunctive constraints, as in job-shop
// scheduling (Carlier and Pinson 1989, "An Algorithm for Solving the Job-Shop Problem").
#ifndef ASHLAR_MEMORY_ORDER_SEARCH_H_
#define ASHLAR_MEMORY_ORDER_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/exact_search.h"
#include "memory/instance.h"
#include "memory/trail.h"
#include "memory/work.h"

namespace ashlar::memory {

// A complete search for instances of every kind, also with the overhangs and pauses that
// ExactSearch does not take.
//
// Decides of two rectangles that share a section which one is below. All decisions together are
// differences, "this base is at least that base plus so much", so each group has a lowest and,
// from the capacity down, a highest base. Where these leave only one way for two rectangles, that
// is decided; where none, the branch is dead. If no rectangles overlap with all groups at their
// lowest bases, that is a plan; else two that do are decided next, first those where either way
// pushes furthest and which failed most often. Parts of time that no group connects are solved
// apart.
class OrderSearch {
 public:
  // Whether there are few enough pairs that could overlap.
  static bool Accepts(const Instance& instance);

  explicit OrderSearch(const Instance& instance);

  bool complete() const { return true; }
  // Bytes: the smallest arena above `capacity` that a plan can have.
  int64_t NextArena(int64_t capacity) const { return (capacity / unit_ + 1) * unit_; }

  // kExhausted is a proof that nothing fits.
  SearchOutcome Run(int64_t capacity, int64_t node_limit, Work& work, int64_t deadline);

  const std::vector<int64_t>& bases() const { return low_; }
  int64_t nodes() const { return nodes_; }  // Of the last run.

 private:
  // Rectangles of two groups that share a section: where the second lies above,
  // its base is at least the first's plus `second_above`; and the other way.
  struct Pair {
    int32_t first, second;  // Groups.
    int64_t second_above, first_above;
  };
  enum Order : int8_t { kOpen, kSecondAbove, kFirstAbove };
  struct Decision {
    int32_t pair;
    Order order;
    bool last_way;  // The other way was tried before.
    size_t mark;    // Of the trail.
  };
  // Bounds of a group's base, and the order of a pair.
  enum class Change : int32_t { kLow, kHigh, kOrder };
  // Groups that are connected in time, and their pairs.
  struct Part {
    int32_t first_group, last_group;  // In groups_.
    int32_t first_pair, last_pair;
  };

  void FindParts();
  void FindPairs();
  int64_t AlignDown(int32_t group, int64_t offset) const;
  bool Possible(const Pair& pair, Order order) const;
  bool FindOverlap(const Part& part, int32_t& pair, Order& order);
  bool SetLow(int32_t group, int64_t base);
  bool SetHigh(int32_t group, int64_t base);
  bool Enforce(int32_t pair, Order order);
  bool Visit(int32_t pair);
  bool Propagate();
  bool Decide(int32_t pair, Order order);
  void TakeBack(size_t mark);
  bool Backtrack();
  void Spend(int64_t pairs);
  SearchOutcome Solve(const Part& part);

  const Instance& instance_;
  int64_t unit_ = 0;             // Every arena is a multiple.
  std::vector<int32_t> groups_;  // Those with bytes, by part.
  std::vector<Part> parts_;      // The fullest first.
  std::vector<Pair> pairs_;      // By part.
  // Pairs of each group, as compressed rows.
  std::vector<int32_t> first_pair_of_;
  std::vector<int32_t> pairs_of_;
  std::vector<double> failures_;  // Of each pair, one at first; kept from run to run.

  // Of the last run. A choice that concerns many pairs counts as several nodes.
  int64_t nodes_ = 0;
  int64_t node_limit_ = 0;
  Work* work_ = nullptr;
  int64_t deadline_ = 0;
  bool gave_up_ = false;
  int64_t pairs_to_node_ = 0;

  std::vector<int64_t> low_, high_;  // Bases, by group.
  std::vector<int8_t> order_;        // By pair.
  std::vector<Decision> decisions_;
  Trail<Change> trail_;
  std::vector<int32_t> queue_;  // Groups whose bounds have changed.
  std::vector<char> queued_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_ORDER_SEARCH_H_

// The changes of a search in order, so that a choice can be undone.
#ifndef ASHLAR_MEMORY_PROBLEM_TRAIL_H_
#define ASHLAR_MEMORY_PROBLEM_TRAIL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar::memory {

// An undo record: array `kind`, element `index`, old value `before`.
template <typename Kind>
class Trail {
 public:
  struct Change {
    Kind kind;
    int32_t index;
    int64_t before;
  };

  size_t mark() const { return changes_.size(); }
  void Add(Kind kind, int32_t index, int64_t before) { changes_.push_back({kind, index, before}); }
  // Calls undo(change) for all changes since the mark, the last one first.
  template <typename Undo>
  void TakeBack(size_t mark, const Undo& undo) {
    while (changes_.size() > mark) {
      const Change change = changes_.back();
      changes_.pop_back();
      undo(change);
    }
  }
  void Clear() { changes_.clear(); }

 private:
  std::vector<Change> changes_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_TRAIL_H_

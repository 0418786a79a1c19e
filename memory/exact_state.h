// The half-filled arena of ExactSearch, and the tests that end a branch: a skyline with a trail to
// take changes back, and the bound of MiniMalloc (Moffitt 2023, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning"), by section what is there and what remains.
#ifndef ASHLAR_MEMORY_EXACT_STATE_H_
#define ASHLAR_MEMORY_EXACT_STATE_H_

#include <cstdint>
#include <vector>

#include "memory/instance.h"
#include "memory/trail.h"

namespace ashlar::memory {

// No group or section, where the index of one stands.
inline constexpr int32_t kNone = -1;

// How groups come to stand on their alignment where that takes care.
enum class Alignment {
  kKept,     // Each stands on the next of its own multiples.
  kRounded,  // All sizes are rounded to the largest alignment; may lose plans, but wastes no time
             // on gaps. Not for groups whose base is not 0 modulo their alignment.
};

// An arena of a given capacity, filled in part from the bottom: what ExactSearch
// stands on. Changes can be taken back. After each change it tests whether what
// remains can still fit: in no section may the lowest possible base of the
// remaining groups, or of those of them that cannot stand below a certain level,
// plus their sizes, exceed the capacity.
//
// Groups with a fixed base are pins: in a section whose level reaches the next
// pin, the level goes on above it.
class ExactState {
 public:
  // A group to be placed: sections [begin, end).
  struct Item {
    int32_t group;
    int32_t begin, end;
    int64_t height;      // Bytes, rounded.
    int64_t end_height;  // Bytes, not rounded.
    int64_t low_height;  // The lowest of its rectangles.
    bool plain;          // One rectangle.
  };
  // Of a remaining item; apart from the rest of it because every choice looks at all.
  struct Life {
    int32_t item;
    int32_t begin, end;
  };
  // A level is twice the height of the skyline, plus one if nothing can stand
  // there: then the next base is higher.
  using Level = int64_t;
  static int64_t LowestBase(Level level) { return (level + 1) >> 1; }

  // A part of time that is solved by itself: sections [begin, end) and the
  // remaining lives [first, last).
  struct Part {
    int32_t begin, end;
    int32_t first, last;
  };

  ExactState(const Instance& instance, Alignment alignment);

  // Whether filling from the bottom loses no plan.
  bool complete() const { return complete_; }
  // Bytes: the smallest arena above `capacity` that a plan can have here.
  int64_t NextArena(int64_t capacity) const { return (capacity / unit_ + 1) * unit_; }

  // Empties the arena. False if nothing fits the capacity.
  bool Reset(int64_t capacity);
  Part Whole() const;

  // The lowest base at or above a floor that the item's alignment allows.
  int64_t AlignUp(int32_t item, int64_t floor) const {
    return aligned_ ? instance_.AlignUp(items_[item].group, floor) : floor;
  }
  // Whether a group may have to stand above what supports it, on its alignment.
  bool aligned() const { return aligned_; }
  // Whether the item clears all pins there.
  bool Clears(int32_t item, int64_t base) const { return LowestClear(item, base) == base; }

  // Places a remaining item of the part at AlignUp of the level of its first section and moves it
  // out of the part. False if that is a dead end; the part is then as it was, but changes stay
  // until taken back.
  bool Place(int32_t item, Part& part);
  // Raises the levels of [begin, end), not beyond their pins. False if that is a dead end.
  bool Lift(int32_t begin, int32_t end, Level level, const Part& part);
  size_t mark() const { return trail_.mark(); }
  // Takes back all changes since the mark; parts regain their items with it.
  void TakeBack(size_t mark);

  // Whether the remaining items still connect the sections of one that has just been placed.
  bool Connected(const Part& part, int32_t item) const;
  // Cuts a part where no remaining item lives on both sides; parts with the least room first.
  std::vector<Part> Split(const Part& part);

  const Item& item(int32_t index) const { return items_[index]; }
  const Life& life(int32_t k) const { return lives_[k]; }
  int64_t capacity() const { return capacity_; }
  // By section.
  Level level(int32_t s) const { return level_[s]; }
  int64_t top(int32_t s) const { return top_[s]; }  // End of the highest group placed.
  // Ends of the next pin: the level below, its top above. kNoPin if there is none.
  static constexpr int64_t kNoPin = INT64_MAX / 2;
  int64_t pin_bottom(int32_t s) const { return pins_[next_pin_[s]].bottom; }
  int64_t pin_top(int32_t s) const { return pins_[next_pin_[s]].top; }
  // The highest lowest base that the remaining groups may have.
  int64_t HighestBase(int32_t s) const { return room_ - load_[s]; }
  // One, and one for each dead end that was found there; dead ends before a reset count less.
  double failures(int32_t s) const { return failures_[s]; }

  const std::vector<int64_t>& bases() const { return bases_; }  // By group.

 private:
  // What a choice changed, to take it back.
  enum class Change : int32_t { kLevel, kTop, kTopItem, kFloor, kPlaced, kPin };

  struct Pin {
    int64_t bottom, top;
  };
  // Bases that an item may not have: between, both excluded.
  struct Forbidden {
    int64_t low, high;
  };

  void AddItem(int32_t group);
  void PinFixedGroups();
  void ForbidBasesAt(const std::vector<Rect>& fixed);
  int64_t LowestClear(int32_t item, int64_t base) const;
  void AddLoad(const Item& item, int sign);
  void SetLevel(int32_t section, Level level, int64_t top, int32_t top_item);
  void PassPins(int32_t begin, int32_t end, const Part& part, int32_t& first, int32_t& last);
  bool BelongsBelow(int32_t upper, int32_t lower) const;
  void RaiseFloors(int32_t begin, int32_t end, Level level, const Part& part, int32_t& first,
                   int32_t& last);
  bool HasRoom(int32_t section, const Part& part);
  bool HaveRoom(int32_t begin, int32_t end, const Part& part);
  bool StackFits(Level level, const Part& part);
  void Drop(int32_t item, Part& part);
  int64_t Rounded(const Rect& rect) const { return (rect.top + rounding_ - 1) & -rounding_; }

  const Instance& instance_;
  std::vector<Item> items_;
  bool complete_ = true;
  bool aligned_ = false;
  int64_t rounding_ = 1;  // All heights are rounded up to it.
  int64_t unit_ = 0;      // Every arena is a multiple.
  // By section, from the lowest up, ending with one at kNoPin.
  std::vector<Pin> pins_;
  std::vector<int32_t> first_pin_;
  // By item, sorted.
  std::vector<Forbidden> forbidden_;
  std::vector<int32_t> first_forbidden_;  // Items + 1; empty without pins.

  int64_t capacity_ = 0;
  int64_t room_ = 0;  // The capacity, and what rounding adds at the very top.
  // By section.
  std::vector<Level> level_;
  std::vector<int64_t> top_;
  std::vector<int32_t> top_item_;  // The highest group's item, or -1.
  std::vector<int64_t> load_;      // Bytes of the remaining items and pins.
  std::vector<int32_t> next_pin_;
  std::vector<int32_t> witness_;  // An item that proved room last time.
  std::vector<double> failures_;
  std::vector<int32_t> crossing_;  // Remaining items live on both sides of its begin.
  std::vector<int64_t> stack_;     // Filled anew by StackFits.
  // By item.
  std::vector<Level> floor_;  // The highest level under its life, or more where that is no base.
  std::vector<char> placed_;
  std::vector<int32_t> place_;  // Of each item in lives_.
  std::vector<Life> lives_;     // Those that a part has left are next to each other.
  std::vector<int64_t> bases_;
  Trail<Change> trail_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_STATE_H_

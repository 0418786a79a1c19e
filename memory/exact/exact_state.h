// The partly filled arena of ExactSearch, and the tests that end a branch. The skyline has a trail
// to undo changes. The bound is MiniMalloc's (Moffitt 2023, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning"): placed and remaining bytes by section.
#ifndef ASHLAR_MEMORY_EXACT_EXACT_STATE_H_
#define ASHLAR_MEMORY_EXACT_EXACT_STATE_H_

#include <cstdint>
#include <vector>

#include "memory/problem/instance.h"
#include "memory/problem/rect.h"
#include "memory/problem/trail.h"

namespace ashlar::memory {

// The index that means "no group" or "no section".
inline constexpr int32_t kNone = -1;

// How groups are aligned if alignments differ.
enum class Alignment {
  kKept,     // each stands on the next multiple of its own alignment
  kRounded,  // all sizes are rounded to the largest alignment: may lose plans, but spends no time
             // on gaps. Not for groups whose base is not 0 modulo their alignment.
};

// An arena of a given capacity, partly filled from the bottom; changes can be undone. After each
// change it tests whether the remaining groups can still fit. In every section, the lowest possible
// base of the remaining groups plus their sizes must not exceed the capacity. The same must hold
// for the remaining groups that cannot stand below a certain level.
//
// Groups with a fixed base are pins: if a section's level reaches the next pin, the level continues
// above it.
class ExactState {
 public:
  // A group to place: sections [begin, end).
  struct Item {
    int32_t group;
    int32_t begin, end;
    int64_t height;      // bytes, rounded
    int64_t end_height;  // bytes, not rounded
    int64_t low_height;  // height of its lowest rectangle
    bool plain;          // one rectangle
  };
  // The life of a remaining item; stored separately because every choice scans all lives.
  struct Life {
    int32_t item;
    int32_t begin, end;
  };
  // A level is twice the height of the skyline, plus one if nothing can stand there; the next base
  // is then higher.
  using Level = int64_t;
  static int64_t LowestBase(Level level) { return (level + 1) >> 1; }

  // A range of time that is solved separately: sections [begin, end) and the remaining lives
  // [first, last).
  struct Part {
    int32_t begin, end;
    int32_t first, last;
  };

  ExactState(const Instance& instance, Alignment alignment);

  // Returns whether filling from the bottom loses no plan.
  bool complete() const { return complete_; }
  // Returns the smallest arena above `capacity`, in bytes, that a plan can have here.
  int64_t NextArena(int64_t capacity) const { return (capacity / unit_ + 1) * unit_; }

  // Empties the arena. Returns false if nothing fits the capacity.
  bool Reset(int64_t capacity);
  Part Whole() const;

  // Returns the lowest aligned base of the item at or above a floor.
  int64_t AlignUp(int32_t item, int64_t floor) const {
    return aligned_ ? instance_.AlignUp(items_[item].group, floor) : floor;
  }
  // Returns whether alignment can force a group above its support.
  bool aligned() const { return aligned_; }
  // Returns whether the item at `base` clears all pins.
  bool Clears(int32_t item, int64_t base) const { return LowestClear(item, base) == base; }

  // Places a remaining item of the part at AlignUp of the level of its first section, and removes
  // it from the part. Returns false at a dead end; the part is then unchanged, but other changes
  // stay until undone.
  bool Place(int32_t item, Part& part);
  // Raises the levels of [begin, end), at most up to their pins. Returns false at a dead end.
  bool Lift(int32_t begin, int32_t end, Level level, const Part& part);
  size_t mark() const { return trail_.mark(); }
  // Undoes all changes since the mark; parts regain their items.
  void TakeBack(size_t mark);

  // Returns whether the remaining items still connect the sections of an item that was just placed.
  bool Connected(const Part& part, int32_t item) const;
  // Cuts a part at sections that no remaining item crosses; returns the parts with the least room
  // first.
  std::vector<Part> Split(const Part& part);

  const Item& item(int32_t index) const { return items_[index]; }
  const Life& life(int32_t k) const { return lives_[k]; }
  int64_t capacity() const { return capacity_; }
  // Values by section.
  Level level(int32_t s) const { return level_[s]; }
  int64_t top(int32_t s) const { return top_[s]; }  // end of the highest group placed
  // The ends of the next pin: its bottom and its top. kNoPin if there is none.
  static constexpr int64_t kNoPin = INT64_MAX / 2;
  int64_t pin_bottom(int32_t s) const { return pins_[next_pin_[s]].bottom; }
  int64_t pin_top(int32_t s) const { return pins_[next_pin_[s]].top; }
  // Returns the highest value that the lowest base of the remaining groups may have.
  int64_t HighestBase(int32_t s) const { return room_ - load_[s]; }
  // Returns one plus the number of dead ends found there; dead ends before a reset count less.
  double failures(int32_t s) const { return failures_[s]; }

  const std::vector<int64_t>& bases() const { return bases_; }  // by group

 private:
  // Kinds of changes for undoing.
  enum class Change : int32_t { kLevel, kTop, kTopItem, kFloor, kPlaced, kPin };

  struct Pin {
    int64_t bottom, top;
  };
  // Bases that an item may not have: between `low` and `high`, both excluded.
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
  int64_t rounding_ = 1;  // all heights are rounded up to it
  int64_t unit_ = 0;      // every arena is a multiple
  // By section, from the lowest up; the last is at kNoPin.
  std::vector<Pin> pins_;
  std::vector<int32_t> first_pin_;
  // By item, sorted.
  std::vector<Forbidden> forbidden_;
  std::vector<int32_t> first_forbidden_;  // items + 1; empty without pins

  int64_t capacity_ = 0;
  int64_t room_ = 0;  // the capacity plus the rounding at the very top
  // By section:
  std::vector<Level> level_;
  std::vector<int64_t> top_;
  std::vector<int32_t> top_item_;  // the highest group's item, or -1
  std::vector<int64_t> load_;      // bytes of the remaining items and pins
  std::vector<int32_t> next_pin_;
  std::vector<int32_t> witness_;  // the item that proved room last time
  std::vector<double> failures_;
  std::vector<int32_t> crossing_;  // remaining items that live on both sides of its begin
  std::vector<int64_t> stack_;     // refilled by StackFits
  // By item:
  std::vector<Level>
      floor_;  // the highest level under its life, or more if that is not a valid base
  std::vector<char> placed_;
  std::vector<int32_t> place_;  // index of each item in lives_
  std::vector<Life> lives_;     // lives that a part has lost are adjacent
  std::vector<int64_t> bases_;
  Trail<Change> trail_;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_EXACT_EXACT_STATE_H_

// A problem as planners see it: groups of rectangles over sections of time.
#ifndef ASHLAR_MEMORY_PROBLEM_INSTANCE_H_
#define ASHLAR_MEMORY_PROBLEM_INSTANCE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/problem/buffer.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {

// When one section ends and the next begins.
enum class Cut {
  kMaximalSets,  // when a buffer dies after another was born
  kEveryEvent,   // whenever a buffer is born or dies
};

// A simplified problem for planners.
//
// Time is cut into sections, by default the maximal sets of buffers that are live together. Two
// buffers share a step if and only if they share a section.
//
// Buffers tied by `inside` form one rigid group, the union of their rectangles. A buffer without
// relations is a group of one. The rectangles of a group never overlap; adjacent rectangles of
// equal extent are joined.
class Instance {
 public:
  // InvalidArgument if ValidateProblem rejects the problem, or if relations, alignments or fixed
  // offsets in a group contradict each other.
  static absl::StatusOr<Instance> Create(const Problem& problem, Cut cut = Cut::kMaximalSets);

  // A group for OfShapes; the rectangles may overlap.
  struct Shape {
    std::vector<Rect> rects;
    int64_t steps = 0, alignment = 1, residue = 0, fixed = -1;
  };
  // Makes an instance from groups without buffers. `section_steps`: the step of each section.
  static Instance OfShapes(std::vector<int64_t> section_steps, absl::Span<const Shape> shapes);

  int sections() const { return static_cast<int>(section_step_.size()); }
  // Returns the first step at which all buffers of a section are live.
  int64_t section_step(int section) const { return section_step_[section]; }

  int groups() const { return static_cast<int>(first_rect_.size()) - 1; }
  // Returns the rectangles, sorted by (begin, bottom). Empty if the group has empty buffers only.
  absl::Span<const Rect> rects(int group) const {
    return absl::MakeConstSpan(rects_).subspan(first_rect_[group],
                                               first_rect_[group + 1] - first_rect_[group]);
  }
  const std::vector<Rect>& all_rects() const { return rects_; }
  // The hull of a group's rectangles: [begin, end) x [0, height).
  int32_t begin(int group) const { return begin_[group]; }
  int32_t end(int group) const { return end_[group]; }
  int64_t height(int group) const { return height_[group]; }
  // Returns the steps between the group's first birth and its last death.
  int64_t steps(int group) const { return steps_[group]; }
  // The base modulo `alignment` must be `residue`.
  int64_t alignment(int group) const { return alignment_[group]; }
  int64_t residue(int group) const { return residue_.empty() ? 0 : residue_[group]; }
  // Returns the prescribed base, or -1.
  int64_t fixed(int group) const { return fixed_.empty() ? -1 : fixed_[group]; }
  bool has_fixed() const { return !fixed_.empty(); }
  // Returns whether all rectangles stand on the base, so that nothing can lie below an overhang.
  bool flat(int group) const;
  bool all_flat() const { return all_flat_; }

  // Returns the smallest base >= offset that the group's alignment allows.
  int64_t AlignUp(int group, int64_t offset) const {
    const int64_t mask = alignment_[group] - 1;
    return offset + ((residue(group) - offset) & mask);
  }

  int group_of(int buffer) const { return group_of_.empty() ? buffer : group_of_[buffer]; }
  // Returns the buffer's address relative to the group's base.
  int64_t offset_in_group(int buffer) const {
    return offset_in_group_.empty() ? 0 : offset_in_group_[buffer];
  }

  // Returns the bytes x sections of a group's hull above `target` if the group is at `base`.
  double Excess(int group, int64_t base, int64_t target) const {
    const int64_t above = std::min(base + height_[group] - target, height_[group]);
    return above <= 0 ? 0 : static_cast<double>(above) * (end_[group] - begin_[group]);
  }

  // Returns the highest end of a group at these bases.
  int64_t Arena(const std::vector<int64_t>& bases) const;
  // Converts bases of groups to a plan of buffers.
  Plan MakePlan(const Problem& problem, const std::vector<int64_t>& bases) const;

 private:
  void CutSections(const Problem& problem, Cut cut, std::vector<Rect>& lifetimes);
  absl::Status FormGroups(const Problem& problem);
  absl::Status ConstrainGroups(const Problem& problem);
  void ShapeGroups(const Problem& problem, const std::vector<Rect>& lifetimes);
  // Adds the shape of the next group.
  void AddShape(absl::Span<const Rect> shape);

  std::vector<int64_t> section_step_;
  std::vector<int32_t> first_rect_;  // groups + 1
  std::vector<Rect> rects_;
  std::vector<int32_t> begin_, end_;
  std::vector<int64_t> height_, steps_, alignment_;
  std::vector<int64_t> residue_, fixed_;  // empty if all have the default
  std::vector<int32_t> group_of_;         // empty if every buffer is its own group
  std::vector<int64_t> offset_in_group_;
  bool all_flat_ = true;
};

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_INSTANCE_H_

#include "memory/problem/instance.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "memory/problem/group_shape.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

absl::Status Contradiction(const Problem& problem, int buffer, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("buffer ", problem.buffers[buffer].id, " (index ", buffer, "): ", what));
}

// Returns the indices of buffers, sorted by the step that `key` returns.
template <typename Key>
std::vector<int32_t> SortedBy(const Problem& problem, Key key) {
  std::vector<std::pair<int64_t, int32_t>> keyed(problem.buffers.size());
  for (size_t i = 0; i < keyed.size(); ++i) {
    keyed[i] = {key(problem.buffers[i]), static_cast<int32_t>(i)};
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int32_t> order(keyed.size());
  for (size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].second;
  return order;
}

}  // namespace

absl::StatusOr<Instance> Instance::Create(const Problem& problem, Cut cut) {
  if (absl::Status status = ValidateProblem(problem); !status.ok()) return status;
  Instance instance;
  std::vector<Rect> lifetimes(problem.buffers.size());
  instance.CutSections(problem, cut, lifetimes);
  if (absl::Status status = instance.FormGroups(problem); !status.ok()) return status;
  if (absl::Status status = instance.ConstrainGroups(problem); !status.ok()) return status;
  instance.ShapeGroups(problem, lifetimes);
  return instance;
}

void Instance::CutSections(const Problem& problem, Cut cut, std::vector<Rect>& lifetimes) {
  const std::vector<Buffer>& buffers = problem.buffers;
  const std::vector<int32_t> births = SortedBy(problem, [](const Buffer& b) { return b.lower; });
  const std::vector<int32_t> deaths = SortedBy(problem, [](const Buffer& b) { return b.upper; });
  // Deaths come before births at the same step: lifetimes are half-open.
  size_t birth = 0;
  size_t death = 0;
  bool born = false;  // since the section began
  int64_t section_step = 0;
  while (death < deaths.size()) {
    const int64_t next_death = buffers[deaths[death]].upper;
    const bool dying = birth == births.size() || next_death <= buffers[births[birth]].lower;
    const int64_t step = dying ? next_death : buffers[births[birth]].lower;
    if (birth == 0) section_step = step;
    if (cut == Cut::kEveryEvent ? step > section_step : dying && born) {
      section_step_.push_back(section_step);
      born = false;
    }
    if (!dying || cut == Cut::kEveryEvent) section_step = step;
    if (dying) {
      lifetimes[deaths[death++]].end = sections();
    } else {
      lifetimes[births[birth++]].begin = sections();
      born = true;
    }
  }
}

absl::Status Instance::FormGroups(const Problem& problem) {
  const int count = static_cast<int>(problem.buffers.size());
  if (problem.inside.empty()) {
    first_rect_.assign(count + 1, 0);
    return absl::OkStatus();
  }
  // Neighbours by relation, as compressed rows.
  std::vector<int32_t> row(count + 1, 0);
  for (const Inside& r : problem.inside) {
    ++row[r.inner + 1];
    ++row[r.outer + 1];
  }
  std::partial_sum(row.begin(), row.end(), row.begin());
  struct Neighbour {
    int32_t buffer;
    int64_t offset;  // its address minus ours
  };
  std::vector<Neighbour> neighbours(row.back());
  std::vector<int32_t> fill(row.begin(), row.end() - 1);
  for (const Inside& r : problem.inside) {
    neighbours[fill[r.inner]++] = {r.outer, -r.offset};
    neighbours[fill[r.outer]++] = {r.inner, r.offset};
  }

  group_of_.assign(count, -1);
  offset_in_group_.assign(count, 0);
  int groups = 0;
  std::vector<int32_t> members;
  for (int root = 0; root < count; ++root) {
    if (group_of_[root] >= 0) continue;
    members.assign(1, root);
    group_of_[root] = groups;
    int64_t lowest = 0;
    for (size_t next = 0; next < members.size(); ++next) {
      const int at = members[next];
      lowest = std::min(lowest, offset_in_group_[at]);
      for (int k = row[at]; k < row[at + 1]; ++k) {
        const auto [to, distance] = neighbours[k];
        const int64_t offset = offset_in_group_[at] + distance;
        if (group_of_[to] < 0) {
          group_of_[to] = groups;
          offset_in_group_[to] = offset;
          members.push_back(to);
        } else if (offset_in_group_[to] != offset) {
          return Contradiction(
              problem, to,
              absl::StrCat("inside relations put it at both ", offset_in_group_[to], " and ",
                           offset, " bytes from buffer ", problem.buffers[root].id));
        }
      }
    }
    for (int member : members) offset_in_group_[member] -= lowest;
    ++groups;
  }
  first_rect_.assign(groups + 1, 0);
  return absl::OkStatus();
}

absl::Status Instance::ConstrainGroups(const Problem& problem) {
  alignment_.assign(groups(), 1);
  const int count = static_cast<int>(problem.buffers.size());
  for (int i = 0; i < count; ++i) {
    const Buffer& b = problem.buffers[i];
    int64_t& alignment = alignment_[group_of(i)];
    alignment = std::max(alignment, b.alignment);
    if (b.offset.has_value() && fixed_.empty()) fixed_.assign(groups(), -1);
  }
  if (!group_of_.empty()) {
    residue_.assign(groups(), 0);
    for (int i = 0; i < count; ++i) {
      const int64_t alignment = problem.buffers[i].alignment;
      if (alignment == alignment_[group_of(i)]) {
        residue_[group_of(i)] = -offset_in_group(i) & (alignment - 1);
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    const Buffer& b = problem.buffers[i];
    const int group = group_of(i);
    if (((residue(group) + offset_in_group(i)) & (b.alignment - 1)) != 0) {
      return Contradiction(
          problem, i,
          absl::StrCat("its alignment ", b.alignment,
                       " contradicts the alignment of a buffer in the same memory"));
    }
    if (!b.offset.has_value()) continue;
    const int64_t base = *b.offset - offset_in_group(i);
    if (base < 0 || (fixed_[group] >= 0 && fixed_[group] != base)) {
      return Contradiction(problem, i,
                           absl::StrCat("its fixed offset ", *b.offset,
                                        " contradicts a buffer it shares memory with"));
    }
    fixed_[group] = base;
  }
  for (int i = 0; i < count; ++i) {
    const int group = group_of(i);
    if (fixed(group) >= 0 && AlignUp(group, fixed(group)) != fixed(group)) {
      return Contradiction(problem, i, "a fixed offset puts it off its alignment");
    }
  }
  return absl::OkStatus();
}

void Instance::ShapeGroups(const Problem& problem, const std::vector<Rect>& lifetimes) {
  const int count = static_cast<int>(problem.buffers.size());
  // Members of each group, as compressed rows.
  std::vector<int32_t> row(groups() + 1, 0);
  for (int i = 0; i < count; ++i) ++row[group_of(i) + 1];
  std::partial_sum(row.begin(), row.end(), row.begin());
  std::vector<int32_t> members(count);
  std::vector<int32_t> fill(row.begin(), row.end() - 1);
  for (int i = 0; i < count; ++i) members[fill[group_of(i)]++] = i;
  // A view that lives no longer than its outer buffer adds nothing.
  std::vector<bool> covered(problem.inside.empty() ? 0 : count, false);
  for (const Inside& r : problem.inside) {
    const Buffer& inner = problem.buffers[r.inner];
    const Buffer& outer = problem.buffers[r.outer];
    const bool strictly =
        inner.size < outer.size ||
        static_cast<uint64_t>(outer.upper) - static_cast<uint64_t>(outer.lower) >
            static_cast<uint64_t>(inner.upper) - static_cast<uint64_t>(inner.lower);
    covered[r.inner] =
        covered[r.inner] || (strictly && outer.lower <= inner.lower && inner.upper <= outer.upper);
  }

  steps_.assign(groups(), 0);
  rects_.reserve(groups());
  for (std::vector<int32_t>* list : {&begin_, &end_}) list->reserve(groups());
  height_.reserve(groups());
  std::vector<Rect> shape;
  for (int g = 0; g < groups(); ++g) {
    shape.clear();
    int64_t lower = INT64_MAX;
    int64_t upper = INT64_MIN;
    for (int k = row[g]; k < row[g + 1]; ++k) {
      const int i = members[k];
      const int64_t size = problem.buffers[i].size;
      lower = std::min(lower, problem.buffers[i].lower);
      upper = std::max(upper, problem.buffers[i].upper);
      if (size == 0 || (!covered.empty() && covered[i])) continue;
      const int64_t bottom = offset_in_group(i);
      shape.push_back({lifetimes[i].begin, lifetimes[i].end, bottom, bottom + size});
    }
    // Steps may be any numbers; a lifetime longer than INT64_MAX is only compared.
    if (__builtin_sub_overflow(upper, lower, &steps_[g])) steps_[g] = INT64_MAX;
    AddShape(shape);
  }
}

void Instance::AddShape(absl::Span<const Rect> shape) {
  std::vector<Rect> merged;
  if (shape.size() > 1) {
    merged = UnionOfRects({shape.begin(), shape.end()});
    shape = merged;
  }
  int32_t begin = 0, end = 0;
  int64_t height = 0;
  for (const Rect& r : shape) {
    begin = height == 0 ? r.begin : std::min(begin, r.begin);
    end = std::max(end, r.end);
    height = std::max(height, r.top);
    all_flat_ = all_flat_ && r.bottom == 0;
  }
  begin_.push_back(begin);
  end_.push_back(end);
  height_.push_back(height);
  rects_.insert(rects_.end(), shape.begin(), shape.end());
  first_rect_[begin_.size()] = static_cast<int32_t>(rects_.size());
}

Instance Instance::OfShapes(std::vector<int64_t> section_steps, absl::Span<const Shape> shapes) {
  Instance instance;
  instance.section_step_ = std::move(section_steps);
  instance.first_rect_.assign(shapes.size() + 1, 0);
  const bool any_fixed = std::any_of(shapes.begin(), shapes.end(),
                                     [](const Shape& shape) { return shape.fixed >= 0; });
  for (const Shape& shape : shapes) {
    instance.AddShape(shape.rects);
    instance.steps_.push_back(shape.steps);
    instance.alignment_.push_back(shape.alignment);
    instance.residue_.push_back(shape.residue);
    if (any_fixed) instance.fixed_.push_back(shape.fixed);
  }
  return instance;
}

bool Instance::flat(int group) const {
  for (const Rect& r : rects(group)) {
    if (r.bottom != 0) return false;
  }
  return true;
}

int64_t Instance::Arena(const std::vector<int64_t>& bases) const {
  int64_t arena = 0;
  for (int g = 0; g < groups(); ++g) {
    if (height_[g] > 0) arena = std::max(arena, bases[g] + height_[g]);
  }
  return arena;
}

Plan Instance::MakePlan(const Problem& problem, const std::vector<int64_t>& bases) const {
  Plan plan;
  const int count = static_cast<int>(problem.buffers.size());
  plan.offsets.resize(count);
  for (int i = 0; i < count; ++i) {
    plan.offsets[i] = bases[group_of(i)] + offset_in_group(i);
    const int64_t size = problem.buffers[i].size;
    if (size > 0) plan.arena = std::max(plan.arena, plan.offsets[i] + size);
  }
  return plan;
}

}  // namespace ashlar::memory

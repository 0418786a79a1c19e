#include "memory/problem/lower_bound.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// Returns for each section the sum of `bytes(group, rect)` over the live rectangles of `groups`.
template <typename Groups, typename Bytes>
std::vector<int64_t> SumPerSection(const Instance& instance, const Groups& groups, Bytes bytes) {
  std::vector<int64_t> sum(instance.sections() + 1, 0);
  for (const int32_t g : groups) {
    for (const Rect& r : instance.rects(g)) {
      const int64_t b = bytes(g, r);
      sum[r.begin] += b;
      sum[r.end] -= b;
    }
  }
  for (int s = 1; s <= instance.sections(); ++s) sum[s] += sum[s - 1];
  sum.pop_back();
  return sum;
}

std::vector<int32_t> AllGroups(const Instance& instance) {
  std::vector<int32_t> groups(static_cast<size_t>(instance.groups()));
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

int64_t Height(int32_t, const Rect& r) { return r.top - r.bottom; }

void Raise(const Instance& instance, const std::vector<int64_t>& load, BoundKind kind,
           LowerBound& bound) {
  for (int s = 0; s < instance.sections(); ++s) {
    if (load[s] > bound.bytes) bound = {load[s], instance.section_step(s), kind};
  }
}

// Raises the bound by gaps. Buffers aligned to `alignment` or more begin at its multiples. So
// between two of them there is a gap that rounds the lower one up; only buffers with a smaller
// alignment can use it. Counts at each section all gaps except the largest, which may be at the
// very top, minus the buffers that may fill them.
void RaiseByGaps(const Instance& instance, int64_t alignment, const std::vector<int64_t>& load,
                 LowerBound& bound) {
  const auto coarse = [&](int g) {
    return instance.alignment(g) >= alignment && instance.residue(g) == 0;
  };
  const auto gap_of = [&](const Rect& r) { return -r.top & (alignment - 1); };
  const std::vector<int64_t> gaps = SumPerSection(
      instance, AllGroups(instance),
      [&](int32_t g, const Rect& r) { return coarse(g) && r.bottom == 0 ? gap_of(r) : 0; });
  const std::vector<int64_t> fillers = SumPerSection(
      instance, AllGroups(instance),
      [&](int32_t g, const Rect& r) { return coarse(g) && r.bottom == 0 ? 0 : Height(g, r); });
  // The largest gap at each section, from births and deaths in a multiset.
  std::vector<std::pair<int32_t, int64_t>> births, deaths;
  for (int g = 0; g < instance.groups(); ++g) {
    for (const Rect& r : instance.rects(g)) {
      if (!coarse(g) || r.bottom != 0 || gap_of(r) == 0) continue;
      births.push_back({r.begin, gap_of(r)});
      deaths.push_back({r.end, gap_of(r)});
    }
  }
  std::sort(births.begin(), births.end());
  std::sort(deaths.begin(), deaths.end());
  std::multiset<int64_t> live;
  size_t birth = 0;
  size_t death = 0;
  std::vector<int64_t> raised = load;
  for (int s = 0; s < instance.sections(); ++s) {
    for (; birth < births.size() && births[birth].first == s; ++birth) {
      live.insert(births[birth].second);
    }
    for (; death < deaths.size() && deaths[death].first == s; ++death) {
      live.erase(live.find(deaths[death].second));
    }
    const int64_t largest = live.empty() ? 0 : *live.rbegin();
    raised[s] += std::max<int64_t>(0, gaps[s] - largest - fillers[s]);
  }
  Raise(instance, raised, BoundKind::kAlignment, bound);
}

}  // namespace

std::vector<int64_t> SectionLoads(const Instance& instance) {
  return SumPerSection(instance, AllGroups(instance), Height);
}

std::vector<int64_t> SectionLoads(const Instance& instance, absl::Span<const int32_t> groups) {
  return SumPerSection(instance, groups, Height);
}

LowerBound ComputeLowerBound(const Instance& instance) {
  LowerBound bound;
  if (instance.sections() > 0) bound.step = instance.section_step(0);
  const std::vector<int64_t> load = SectionLoads(instance);
  Raise(instance, load, BoundKind::kLiveness, bound);
  std::set<int64_t> alignments;
  for (int g = 0; g < instance.groups(); ++g) {
    if (!instance.rects(g).empty()) alignments.insert(instance.alignment(g));
    if (instance.fixed(g) >= 0 && instance.height(g) > 0 &&
        instance.fixed(g) + instance.height(g) > bound.bytes) {
      bound = {instance.fixed(g) + instance.height(g), instance.section_step(instance.begin(g)),
               BoundKind::kFixedOffset};
    }
  }
  for (int64_t alignment : alignments) {
    if (alignment > 1) RaiseByGaps(instance, alignment, load, bound);
  }
  return bound;
}

absl::StatusOr<std::vector<LiveBytes>> LiveProfile(const Problem& problem) {
  absl::StatusOr<Instance> instance = Instance::Create(problem, Cut::kEveryEvent);
  if (!instance.ok()) return instance.status();
  const std::vector<int64_t> load = SectionLoads(*instance);
  std::vector<LiveBytes> profile;
  for (int s = 0; s < instance->sections(); ++s) {
    profile.push_back({instance->section_step(s), load[s]});
  }
  if (profile.empty()) return profile;
  int64_t last = problem.buffers[0].upper;
  for (const Buffer& b : problem.buffers) last = std::max(last, b.upper);
  profile.push_back({last, 0});
  return profile;
}

}  // namespace ashlar::memory

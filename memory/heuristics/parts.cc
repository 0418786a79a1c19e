#include "memory/heuristics/parts.h"

#include <algorithm>

#include "memory/problem/lower_bound.h"
#include "memory/problem/rect.h"

namespace ashlar::memory {
namespace {

// Parts have at least so many groups.
constexpr int kLeastGroups = 24;
// At most so many groups live on both sides of a border.
constexpr int32_t kMostAcross = 2;

}  // namespace

std::vector<TimePart> FindParts(const Instance& instance) {
  const int32_t sections = instance.sections();
  // By section: groups that begin in it; and that live in it and in the one before.
  std::vector<int32_t> born(sections + 1, 0), across(sections + 1, 0);
  int64_t groups = 0;
  for (int32_t g = 0; g < instance.groups(); ++g) {
    if (instance.height(g) == 0) continue;
    ++groups;
    ++born[instance.begin(g)];
    ++across[instance.begin(g) + 1];
    --across[instance.end(g)];
  }
  std::vector<TimePart> parts = {{0, sections}};
  int32_t living = 0, inside = 0;
  for (int32_t s = 0; s < sections; ++s) {
    living += across[s];
    if (s > 0 && living <= kMostAcross && inside >= kLeastGroups && groups >= kLeastGroups) {
      parts.back().end = s;
      parts.push_back({s, sections});
      inside = 0;
    }
    inside += born[s];
    groups -= born[s];
  }
  return parts;
}

PartInstance MakePart(const Instance& instance, const TimePart& part,
                      const std::vector<int64_t>& bases) {
  PartInstance made;
  const auto is_fixed = [&](int32_t g) { return instance.fixed(g) >= 0 || bases[g] >= 0; };
  const auto lives_in = [&](int32_t g, int32_t begin, int32_t end) {
    const absl::Span<const Rect> rects = instance.rects(g);
    return std::any_of(rects.begin(), rects.end(),
                       [&](const Rect& r) { return r.begin < end && begin < r.end; });
  };
  // Groups that get a base may live longer than the part, with other groups that have one.
  TimePart longer = part;
  for (int32_t g = 0; g < instance.groups(); ++g) {
    if (is_fixed(g) || !lives_in(g, part.begin, part.end)) continue;
    longer.begin = std::min(longer.begin, instance.begin(g));
    longer.end = std::max(longer.end, instance.end(g));
  }
  int32_t begin = longer.begin, end = longer.end;
  for (int32_t g = 0; g < instance.groups(); ++g) {
    const TimePart& range = is_fixed(g) ? longer : part;
    if (!lives_in(g, range.begin, range.end)) continue;
    made.groups.push_back(g);
    begin = std::min(begin, instance.begin(g));
    end = std::max(end, instance.end(g));
  }
  std::vector<Instance::Shape> shapes;
  for (const int32_t g : made.groups) {
    const int64_t fixed = instance.fixed(g) >= 0 ? instance.fixed(g) : bases[g];
    Instance::Shape shape{{}, instance.steps(g), instance.alignment(g), instance.residue(g), fixed};
    for (const Rect& r : instance.rects(g)) {
      shape.rects.push_back({r.begin - begin, r.end - begin, r.bottom, r.top});
    }
    shapes.push_back(std::move(shape));
  }
  std::vector<int64_t> steps;
  for (int32_t s = begin; s < end; ++s) steps.push_back(instance.section_step(s));
  made.instance = Instance::OfShapes(std::move(steps), shapes);
  return made;
}

std::vector<size_t> FullestFirst(const Instance& instance, const std::vector<TimePart>& parts) {
  const std::vector<int64_t> loads = SectionLoads(instance);
  const auto load = [&](size_t part) {
    return *std::max_element(loads.begin() + parts[part].begin, loads.begin() + parts[part].end);
  };
  size_t first = 0;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (load(i) > load(first)) first = i;
  }
  std::vector<size_t> order = {first};
  for (size_t before = first, after = first + 1; order.size() < parts.size();) {
    const bool back = before > 0 && (after == parts.size() || load(before - 1) >= load(after));
    order.push_back(back ? --before : after++);
  }
  return order;
}

}  // namespace ashlar::memory

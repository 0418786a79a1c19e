#include "memory/problem/fixed_offsets.h"

#include <algorithm>
#include <vector>

#include "memory/problem/validator.h"

namespace ashlar::memory {

std::optional<FixedConflict> FindFixedConflict(const Problem& problem, const Instance& instance) {
  if (!instance.has_fixed()) return std::nullopt;
  // A problem of the fixed buffers, and its only plan.
  Problem fixed;
  Plan plan;
  std::vector<int> of_fixed;
  std::vector<int> index(problem.buffers.size(), -1);
  for (int i = 0; i < static_cast<int>(problem.buffers.size()); ++i) {
    const int64_t base = instance.fixed(instance.group_of(i));
    if (base < 0) continue;
    index[i] = static_cast<int>(of_fixed.size());
    of_fixed.push_back(i);
    const int64_t offset = base + instance.offset_in_group(i);
    fixed.buffers.push_back(problem.buffers[i]);
    plan.offsets.push_back(offset);
    if (problem.buffers[i].size > 0) {
      plan.arena = std::max(plan.arena, offset + problem.buffers[i].size);
    }
  }
  for (const Inside& r : problem.inside) {
    if (index[r.inner] >= 0) {
      fixed.inside.push_back({index[r.inner], index[r.outer], r.offset});
    }
  }
  const Verdict verdict = ValidatePlan(fixed, plan);
  if (verdict.fault != Fault::kOverlap) return std::nullopt;
  return FixedConflict{of_fixed[verdict.first],
                       of_fixed[verdict.second >= 0 ? verdict.second : verdict.first]};
}

}  // namespace ashlar::memory

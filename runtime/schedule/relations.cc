#include "runtime/schedule/relations.h"

#include <algorithm>

namespace ashlar {

using memory::Buffer;
using memory::Inside;

void AlignBuffers(int64_t alignment, memory::Problem& problem) {
  for (Buffer& buffer : problem.buffers) buffer.alignment = alignment;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Inside& relation : problem.inside) {
      int64_t implied = problem.buffers[relation.outer].alignment;
      if (relation.offset % implied != 0) implied = relation.offset & -relation.offset;
      Buffer& inner = problem.buffers[relation.inner];
      changed = changed || inner.alignment > implied;
      inner.alignment = std::min(inner.alignment, implied);
    }
  }
}

Lifetimes KeepRelations(const Lifetimes& lifetimes, const std::vector<bool>& kept) {
  Lifetimes result = lifetimes;
  const std::vector<Inside>& all = lifetimes.problem.inside;
  const size_t first_overwrite = all.size() - static_cast<size_t>(lifetimes.num_overwrites);
  result.problem.inside.clear();
  result.num_overwrites = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!kept[i]) continue;
    result.problem.inside.push_back(all[i]);
    result.num_overwrites += i >= first_overwrite;
  }
  int64_t alignment = 1;
  for (const Buffer& buffer : result.problem.buffers) {
    alignment = std::max(alignment, buffer.alignment);
  }
  AlignBuffers(alignment, result.problem);
  return result;
}

}  // namespace ashlar

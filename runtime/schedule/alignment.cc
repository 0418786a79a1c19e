#include "runtime/schedule/alignment.h"

#include <algorithm>

namespace ashlar {

void AlignBuffers(int64_t alignment, memory::Problem& problem) {
  for (memory::Buffer& buffer : problem.buffers) buffer.alignment = alignment;
  for (bool changed = true; changed;) {
    changed = false;
    for (const memory::Inside& relation : problem.inside) {
      int64_t implied = problem.buffers[relation.outer].alignment;
      if (relation.offset % implied != 0) implied = relation.offset & -relation.offset;
      memory::Buffer& inner = problem.buffers[relation.inner];
      changed = changed || inner.alignment > implied;
      inner.alignment = std::min(inner.alignment, implied);
    }
  }
}

}  // namespace ashlar

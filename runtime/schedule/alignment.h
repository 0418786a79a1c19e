// Alignments of buffers, some of which lie inside others.
#ifndef ASHLAR_RUNTIME_SCHEDULE_ALIGNMENT_H_
#define ASHLAR_RUNTIME_SCHEDULE_ALIGNMENT_H_

#include <cstdint>

#include "memory/problem/buffer.h"

namespace ashlar {

// Sets the alignment of every buffer, in bytes. A buffer inside another one is as aligned as that
// one and its offset allow.
void AlignBuffers(int64_t alignment, memory::Problem& problem);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_ALIGNMENT_H_

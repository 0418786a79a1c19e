// Relations between buffers and the buffers that contain them, and the alignments that follow.
#ifndef ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_
#define ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_

#include <cstdint>
#include <vector>

#include "memory/buffer.h"
#include "runtime/schedule/lifetimes.h"

namespace ashlar {

// Sets the alignment of every buffer, in bytes. A buffer inside another one is as aligned as that
// one and its offset allow.
void AlignBuffers(int64_t alignment, memory::Problem& problem);

// Keeps only the relations for which `kept` (by relation) is true. A buffer that no other one
// contains any more has an address of its own.
Lifetimes KeepRelations(const Lifetimes& lifetimes, const std::vector<bool>& kept);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_

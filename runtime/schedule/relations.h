// Chunks that lie inside of others, and the alignment that this leaves to them.
#ifndef ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_
#define ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_

#include <cstdint>
#include <vector>

#include "memory/buffer.h"
#include "runtime/schedule/lifetimes.h"

namespace ashlar {

// Gives every buffer the alignment, in bytes; a buffer inside of another one is as aligned as
// that one and the offset in it allow.
void AlignBuffers(int64_t alignment, memory::Problem& problem);

// The lifetimes with the relations for which `kept` (by relation) says so. What lies
// inside of nothing any more has an address of its own.
Lifetimes KeepRelations(const Lifetimes& lifetimes, const std::vector<bool>& kept);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_RELATIONS_H_

// Copies between different layouts of the same elements.
#ifndef ASHLAR_RUNTIME_CPU_COPY_H_
#define ASHLAR_RUNTIME_CPU_COPY_H_

#include <cstdint>
#include <vector>

#include "runtime/cpu/walk.h"

namespace ashlar::cpu {

// Operand 0 of each loop is the target, operand 1 the source. Elements have `element_bytes` bytes
// (1, 2, 4 or 8).
void CopyElements(const std::vector<RowLoop<2>>& loops, int threads, int64_t element_bytes,
                  void* target, const void* source);

// Copies `bytes`, which may be 0. Does nothing if source and target are the same.
void CopyBytes(void* target, const void* source, int64_t bytes, int threads);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_COPY_H_

// Storage for a subgraph of a larger graph, whose ends may be in the arena.
#ifndef ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_
#define ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_

#include "runtime/schedule/storage.h"

namespace ashlar {

// Tells which ends of the subgraph lie in the enclosing graph's arena, instead of being the
// caller's tensors.
struct PartEnds {
  bool inputs_in_arena = false;
  bool last_output_in_arena = false;
  bool inputs_released = false;  // inputs in the arena are donated (StorageOptions::release_inputs)
};

// Does the same as BuildStorageModel, but `ends` replaces the options for inputs. A storage of an
// input exists before the first step.
StorageModel BuildPartStorageModel(const Graph& graph, const StorageOptions& options,
                                   const PartEnds& ends);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_

// Which vars share memory in a part of a larger graph, whose ends may be in the arena.
#ifndef ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_
#define ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_

#include "runtime/schedule/storage.h"

namespace ashlar {

// Which of the graph's inputs and outputs are none of the caller's tensors but made and read by
// what is around it.
struct PartEnds {
  bool inputs_in_arena = false;
  bool last_output_in_arena = false;
  bool inputs_released = false;  // of inputs in the arena: StorageOptions::release_inputs
};

// As BuildStorageModel does, but for what the options say of inputs. A storage that is an input is
// there before the first step.
StorageModel BuildPartStorageModel(const Graph& graph, const StorageOptions& options,
                                   const PartEnds& ends);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_PART_STORAGE_H_

// Builds the storage model of a graph, or of a subgraph of a larger graph.
#ifndef ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_
#define ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

struct StorageOptions {
  bool inplace = true;  // writable forwards and placements
  bool views = true;    // readonly forwards
  // Inputs are donated: they lie in the arena from before the first step.
  bool release_inputs = false;
  bool parts = false;  // storages in the arena are freed one sub-buffer at a time
                       // (StorageModel::parts)
  bool moves = false;  // copies may overlap a source that dies (StorageModel::moves)
  // Bytes: a view whose offset in its storage is not a multiple of this is copied instead.
  int64_t view_alignment = 1;
};

StorageModel BuildStorageModel(const Graph& graph, const StorageOptions& options);

// Tells which ends of a subgraph lie in the enclosing graph's arena, instead of being the caller's
// tensors.
struct PartEnds {
  bool inputs_in_arena = false;
  size_t outputs_in_arena = 0;   // the last ones
  bool inputs_released = false;  // inputs in the arena are donated (StorageOptions::release_inputs)
};

// Does the same as BuildStorageModel, but `ends` replaces the options for inputs. A storage of an
// input exists before the first step.
StorageModel BuildPartStorageModel(const Graph& graph, const StorageOptions& options,
                                   const PartEnds& ends);

// Returns whether the caller gets this var.
bool IsOutput(const Graph& graph, int var);

// Returns the nodes in comp_seq: all whose device values an output or an update of state needs, and
// all inputs.
std::vector<bool> ScheduledNodes(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_

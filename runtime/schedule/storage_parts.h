// Parts of storages that die by themselves: bytes that are read together, as rows of an image by
// the strips that read them.
#ifndef ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_
#define ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_

#include "absl/types/span.h"
#include "graph/aliasing.h"
#include "graph/graph.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// Takes the storages in the arena apart, or the inputs among them, where their readers do not all
// read all of them (StorageModel::parts). For a model that is complete; `aliasing` is by node.
void ApartByReaders(const Graph& graph, absl::Span<const Aliasing> aliasing, bool inputs_only,
                    StorageModel& model);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_

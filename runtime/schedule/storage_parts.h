// Sub-buffers of storages that die separately: bytes with the same readers, such as the rows of an
// image that one strip reads.
#ifndef ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_
#define ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_

#include "absl/types/span.h"
#include "graph/aliasing.h"
#include "graph/graph.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// Splits the storages in the arena (or only the inputs among them) into sub-buffers, if some
// readers read only a part (StorageModel::parts). The model must be complete; `aliasing` is by
// node.
void ApartByReaders(const Graph& graph, absl::Span<const Aliasing> aliasing, bool inputs_only,
                    StorageModel& model);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_STORAGE_PARTS_H_

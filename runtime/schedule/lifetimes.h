// Builds a planning problem from an order: when each storage lives, and which storages share
// memory. Lifetimes are defined as in MegEngine's
// src/core/impl/graph/var_node_mem_mgr/seq_mem_opt.cpp, by position in comp_seq. Overwrites are
// chosen greedily in that order.
#ifndef ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_
#define ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/problem/buffer.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

// The lifetimes of an order. They follow MegEngine: [step of the producer, last reader's step + 1),
// unread: one step; steps are positions in the order. If the last reader moves the storage
// (Storage::mover), it dies one step earlier. An input in the arena lives from step 0 on,
// at any position of its node. Buffers of the problem are the arena's storages, in their order,
// then the non-empty workspaces, by step. A buffer's id is the owner var's id, or
// OperatorNode::workspace_id.
//
// An output overwrites a dying input if StorageModel allows it. The first candidate is taken whose
// memory is all dead after this step. The overwrite becomes an Inside relation, like a placement.
struct Lifetimes {
  // Its relations are first the placements, then the sub-buffers of storages, and last the
  // `num_overwrites` overwrites.
  memory::Problem problem;
  std::vector<int> storage_buffer;    // by storage: its buffer, or -1 if not in the arena
  std::vector<int> workspace_buffer;  // by node: its buffer, or -1
  int num_overwrites = 0;             // accepted
  int64_t looks = 0;                  // at buffers, to find overwrites: the work of it
};

// Computes the lifetimes. `order` contains every scheduled node once; `workspace` is bytes by node;
// `alignment` is in bytes. Each buffer is made `guard` bytes longer, except buffers inside another
// one.
Lifetimes ComputeLifetimes(const Graph& graph, const StorageModel& model,
                           absl::Span<const int> order, absl::Span<const int64_t> workspace,
                           int64_t alignment, int64_t guard = 0);

// Keeps only the relations for which `kept` (by relation) is true. A buffer that no other one
// contains any more has an address of its own.
Lifetimes KeepRelations(const Lifetimes& lifetimes, const std::vector<bool>& kept);

// Removes the overwrites that are not needed to keep the live bytes of each step within `bound`. An
// output and the tensor that it would have overwritten then have separate addresses.
Lifetimes WithoutNeedlessOverwrites(const Lifetimes& lifetimes, int64_t bound);

// Removes placements of storages that wait several steps for the rest of their whole: the last rows
// of a strip wait for the next strip. Such a storage reserves a place of the size of the whole;
// without the placement it is copied there. Keeps a placement if its removal would raise the live
// bytes of a step above `bound`. `alike`: of placements that recur in several equal rounds, removes
// all or none.
Lifetimes WithoutWaitingPlacements(const Lifetimes& lifetimes, int64_t bound, bool alike);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_

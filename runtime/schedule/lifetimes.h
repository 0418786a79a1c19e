// From an order to a planning problem: when each storage lives, and which share memory. Lifetimes
// as MegEngine's src/core/impl/graph/var_node_mem_mgr/seq_mem_opt.cpp has them, by position in
// comp_seq; overwrites are taken greedily in that order.
#ifndef ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_
#define ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "memory/buffer.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// Lifetimes follow MegEngine: [step of the producer, last reader's step + 1), unread: one step;
// steps are positions in the order. An input in the arena lives from step 0 on, wherever its node
// stands. Buffers of the problem are the arena's storages, in their order, then the workspaces that
// have bytes, by step; a buffer's id is the owner var's id, or OperatorNode::workspace_id.
//
// An output overwrites a dying input where StorageModel allows it: the first candidate all of whose
// memory is dead after this step. It is then an Inside relation, as is a placement.
struct Lifetimes {
  // Its last `num_overwrites` relations are the overwrites, relations before them are the
  // placements, then parts of storages.
  memory::Problem problem;
  std::vector<int> storage_buffer;    // by storage: its buffer, or -1 if not in the arena
  std::vector<int> workspace_buffer;  // by node: its buffer, or -1
  int num_overwrites = 0;             // accepted
};

// `order` holds every scheduled node once; `workspace` is bytes by node; `alignment` in bytes. With
// `guard` bytes each buffer is made that much longer, but for buffers placed inside another.
Lifetimes ComputeLifetimes(const Graph& graph, const StorageModel& model,
                           absl::Span<const int> order, absl::Span<const int64_t> workspace,
                           int64_t alignment, int64_t guard = 0);

// Drops the overwrites without which still at most `bound` bytes are live at a step. An output and
// the tensor that it would have overwritten then each have an address of their own.
Lifetimes WithoutNeedlessOverwrites(const Lifetimes& lifetimes, int64_t bound);

// Drops placements of parts that wait for the rest of their whole for some steps, as the last rows
// of a strip wait for the next, where still at most `bound` bytes are live at a step; `alike`: of
// one that comes again in each of several equal rounds, all or none. Such a part holds a place free
// that has to be as large as the whole; now it is copied there. The others it keeps.
Lifetimes WithoutWaitingPlacements(const Lifetimes& lifetimes, int64_t bound, bool alike);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_LIFETIMES_H_

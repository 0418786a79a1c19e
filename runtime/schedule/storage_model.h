// Storages: which vars share memory, before order and addresses are known.
//
// A storage is one future allocation (a chunk, in MegEngine's words). Vars that are views of each
// other (readonly forward) share one. The model records two permissions: which memory an output may
// overwrite (writable forward), and which inputs may be written directly into their place in an
// output. The order decides which permissions are used (runtime/schedule/lifetimes.h).
#ifndef ASHLAR_RUNTIME_SCHEDULE_STORAGE_MODEL_H_
#define ASHLAR_RUNTIME_SCHEDULE_STORAGE_MODEL_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace ashlar {

// The memory that holds a storage.
enum class Pool {
  kArena,    // planned by a planner
  kWeights,  // constants, for the life of the executable
  kState,    // tensors that updates change in place, for the life of the session
  kInput,    // the caller's tensor
  kOutput,   // the caller's tensor, written in place
};

struct Storage {
  int owner = 0;  // the first var in it; views come later
  int64_t bytes = 0;
  Pool pool = Pool::kArena;
  int producer = 0;               // node
  int binding = -1;               // kInput, kOutput: index into Graph::inputs() or outputs()
  std::vector<int> readers = {};  // scheduled nodes that read any view of it, ascending
  int mover = -1;                 // a reader that moves it (Aliasing::Move), or -1
  int whole = -1;  // the storage that this is a sub-buffer of (StorageModel::parts), or
                   // -1
};

// The range of a storage that a var occupies; storage -1: the var has no bytes or is never on the
// device.
struct VarView {
  int storage = -1;
  int64_t offset = 0;  // bytes
};

// Storage `inner` may be written inside `outer` at `offset`: the node that produces `outer` then
// need not copy it.
struct Placement {
  int inner = 0;
  int outer = 0;
  int64_t offset = 0;
};

// Storage `made`, which begins at a node, may overwrite `storage` (at `offset` inside it) if that
// dies at this node.
struct Overwrite {
  int made = 0;
  int storage = 0;
  int64_t offset = 0;
};

// A node that must run before another one without being its input: a reader of a state before the
// state's update. Every order obeys (runtime/schedule/scheduler.h).
struct RunsBefore {
  int first = 0;
  int then = 0;
};

struct StorageModel {
  std::vector<Storage> storages;
  std::vector<VarView> views;  // by var
  // By var: the node writes it into the storage of an input, or of the state that takes it. An
  // input is a state; or it has no other reader, and the var will be placed inside another one,
  // which fixes the address of both.
  std::vector<bool> updated;
  std::vector<bool> scheduled;                     // by node: is in comp_seq
  std::vector<std::vector<int>> reads;             // by node: storages, without repeats
  std::vector<std::vector<int>> writes;            // by node: storages that begin here
  std::vector<std::vector<Overwrite>> overwrites;  // by node: for each storage the best first
  std::vector<std::vector<Placement>> placements;  // by node
  // By node: sub-buffers of the storages that begin there. Each lives until its last reader has
  // run; bytes outside all sub-buffers die at once. If a storage has sub-buffers, nodes read these
  // instead of it.
  std::vector<std::vector<Placement>> parts;
  // Edges that every scheduler obeys besides the edges of inputs: readers of a state run before its
  // update. Both nodes are scheduled, and `first` comes before `then` in the graph. So there are no
  // cycles, and the order as given is valid.
  std::vector<RunsBefore> runs_before;

  // Returns whether a node writes memory: storages that begin there, or states in place.
  bool Writes(const Graph& graph, int node) const;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_STORAGE_MODEL_H_

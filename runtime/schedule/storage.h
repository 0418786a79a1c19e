// Which vars share memory, before order and addresses are known.
//
// A storage is one allocation to be (a chunk, in MegEngine's words): vars that are views of each
// other (readonly forward) share one. What an output may overwrite (writable forward), and which
// inputs may be written straight into their place in an output, is recorded here as permission; the
// order decides which permissions are used (runtime/schedule/lifetimes.h).
#ifndef ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_
#define ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace ashlar {

// Where a storage lives.
enum class Pool {
  kArena,    // planned by a planner
  kWeights,  // constants, for the life of the executable
  kState,    // tensors that updates change in place, for the life of the session
  kInput,    // the caller's tensor
  kOutput,   // the caller's tensor, written in place
};

struct Storage {
  int owner = 0;  // the var it was made for; views of it come later
  int64_t bytes = 0;
  Pool pool = Pool::kArena;
  int producer = 0;          // node
  int binding = -1;          // kInput, kOutput: index into Graph::inputs() or outputs()
  std::vector<int> readers;  // scheduled nodes that read it through any view, ascending
  int whole = -1;            // the storage that it is a part of (StorageModel::parts), or -1
};

// A var's part of a storage; storage -1: the var has no bytes or is never on the device.
struct VarView {
  int storage = -1;
  int64_t offset = 0;  // bytes
};

// Storage `inner` may be made inside `outer` at `offset`: the node that makes `outer` then has
// nothing to copy for it.
struct Placement {
  int inner = 0;
  int outer = 0;
  int64_t offset = 0;
};

// Storage `made`, which begins at a node, may overwrite `storage` (at `offset` inside it) if that
// dies there.
struct Overwrite {
  int made = 0;
  int storage = 0;
  int64_t offset = 0;
};

// A node that has to run before another one, which reads nothing of it: a reader of a state before
// what updates that state. Every order obeys (runtime/schedule/scheduler.h).
struct RunsBefore {
  int first = 0;
  int then = 0;
};

struct StorageModel {
  std::vector<Storage> storages;
  std::vector<VarView> views;  // by var
  // By var: made by its node in the storage of an input, which is a state, or which nobody else
  // reads and which has to have the address of this var as the latter is placed inside another.
  std::vector<bool> updated;
  std::vector<bool> scheduled;                     // by node: runs, or stands in comp_seq
  std::vector<std::vector<int>> reads;             // by node: storages, without repeats
  std::vector<std::vector<int>> writes;            // by node: storages that begin here
  std::vector<std::vector<Overwrite>> overwrites;  // by node: of each storage the best first
  std::vector<std::vector<Placement>> placements;  // by node
  // By node: parts of the storages that begin there. Each lives until the last that reads any of it
  // has run, and what no part covers dies at once: of a storage that has parts, the parts are read.
  std::vector<std::vector<Placement>> parts;
  // Edges that every scheduler obeys besides the edges of inputs: readers of a state run before its
  // update. Both nodes are scheduled, and in the graph `first` stands before `then`: so there are
  // no circles, and the order as given obeys.
  std::vector<RunsBefore> runs_before;

  // Whether a node makes anything: storages of its own, or states in their place.
  bool Writes(const Graph& graph, int node) const;
};

struct StorageOptions {
  bool inplace = true;  // writable forwards and placements
  bool views = true;    // readonly forwards
  // The caller gives its inputs up: they lie in the arena from before the first step on.
  bool release_inputs = false;
  bool parts = false;  // storages in the arena die part by part (StorageModel::parts)
  // Bytes: a part that would begin at no multiple of this inside its storage is copied instead.
  int64_t view_alignment = 1;
};

StorageModel BuildStorageModel(const Graph& graph, const StorageOptions& options);

// Nodes that stand in comp_seq: all that an output or an update of state needs the device value of,
// and all inputs.
std::vector<bool> ScheduledNodes(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_STORAGE_H_

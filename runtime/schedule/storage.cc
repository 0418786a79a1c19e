#include "runtime/schedule/storage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/state.h"
#include "runtime/schedule/storage_parts.h"

namespace ashlar {
namespace {

// Appends a value to an ascending list unless it is the last; returns whether it was new.
bool AddLast(std::vector<int>& list, int value) {
  if (!list.empty() && list.back() == value) return false;
  list.push_back(value);
  return true;
}

bool ReadsOnDevice(const OperatorNode& node, size_t input) {
  return node.op->input_use(static_cast<int>(input)) == InputUse::kDeviceValue;
}

Pool PoolOf(const OperatorNode& node, int output, const PartEnds& ends) {
  if (node.op->role() == Role::kInput && output == 0) {
    return ends.inputs_in_arena ? Pool::kArena : Pool::kInput;
  }
  if (node.op->role() == Role::kConstant) return Pool::kWeights;
  if (node.op->role() == Role::kState) return Pool::kState;
  return Pool::kArena;
}

class Builder {
 public:
  Builder(const Graph& graph, const StorageOptions& options, const PartEnds& ends)
      : graph_(graph), options_(options), ends_(ends) {
    const size_t nodes = graph.nodes().size();
    model_.scheduled = ScheduledNodes(graph);
    model_.views.resize(graph.vars().size());
    model_.updated.resize(graph.vars().size(), false);
    model_.reads.resize(nodes);
    model_.writes.resize(nodes);
    model_.overwrites.resize(nodes);
    model_.placements.resize(nodes);
    model_.parts.resize(nodes);
  }

  StorageModel Build() && {
    FindAliasing();
    if (options_.inplace) {
      FindContinued();
      FindMadeInStates();
    }
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (model_.scheduled[i]) AddNode(static_cast<int>(i));
    }
    OrderUpdates();
    BindToCaller();
    if (options_.inplace) {
      for (size_t i = 0; i < graph_.nodes().size(); ++i) {
        if (!model_.scheduled[i] || graph_.node(static_cast<int>(i)).op->role() != Role::kCompute) {
          continue;
        }
        AddOverwrites(static_cast<int>(i));
        AddPlacements(static_cast<int>(i));
      }
    }
    if (ends_.inputs_released || options_.parts) {
      ApartByReaders(graph_, aliasing_, /*inputs_only=*/!options_.parts, model_);
    }
    return std::move(model_);
  }

 private:
  void FindAliasing() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const OperatorNode& node = graph_.node(static_cast<int>(i));
      if (model_.scheduled[i] && node.op->role() == Role::kCompute) {
        aliasing_[i] = node.op->aliasing(graph_.SiteOf(node));
      }
    }
  }

  // Finds vars that share a storage with an input from the start. A var that will be placed inside
  // another one gets its address from that, so it cannot choose an overwrite later. If it may
  // overwrite a var without other readers, which dies in every order, both become one storage: for
  // example, sums of taps, added one after the other, that end inside a concatenation. A var that
  // would have to wait for something else keeps its own memory, because it would reserve its place
  // in the whole for long.
  void FindContinued() {
    std::vector<bool> placed(graph_.vars().size(), false), taken = placed;
    for (int i = static_cast<int>(graph_.nodes().size()) - 1; i >= 0; --i) {
      const OperatorNode& node = graph_.node(i);
      if (!aliasing_[i].updates.empty()) continue;  // FindMadeInStates
      for (const Aliasing::Placement& placement : aliasing_[i].placements) {
        const bool is_callers = IsOutput(graph_, node.outputs[placement.output]);
        if (!is_callers) placed[node.inputs[placement.input]] = true;
      }
      for (const Aliasing::Overwrite& overwrite : aliasing_[i].overwrites) {
        const int made = node.outputs[overwrite.output], given = node.inputs[overwrite.input];
        if (!placed[made] || continued_[made] >= 0 || taken[given]) continue;
        if (!IsReadOnceBy(i, given) || !MayFollow(i, graph_.var(given).producer)) continue;
        continued_[made] = given;
        placed[given] = taken[given] = true;
      }
    }
  }

  // Finds values that an update places in its state (Aliasing::Placement) and that may be computed
  // there, so that nothing is copied: all other readers of the state come before the value's node,
  // which does not read it or may overwrite it.
  void FindMadeInStates() {
    const bool any = std::any_of(aliasing_.begin(), aliasing_.end(), [](const Aliasing& a) {
      return !a.updates.empty() && !a.placements.empty();
    });
    if (!any) return;
    const StateUse use = FindStateUse(graph_);
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      for (const Aliasing::Update& update : aliasing_[n].updates) {
        for (const Aliasing::Placement& placement : aliasing_[n].placements) {
          if (placement.output != update.output || placement.offset != 0) continue;
          FindMadeInState(static_cast<int>(n), update.input, placement.input, use);
        }
      }
    }
  }

  void FindMadeInState(int update, int state_input, int value_input, const StateUse& use) {
    const OperatorNode& node = graph_.node(update);
    const int state = node.inputs[state_input], value = node.inputs[value_input];
    const int maker = graph_.var(value).producer;
    if (use.state[state] != state || use.state[value] >= 0 || in_state_[value] >= 0 ||
        continued_[value] >= 0 || graph_.node(maker).op->role() != Role::kCompute ||
        RootOf(value) != value || graph_.var(state).producer > maker ||
        graph_.var(value).type.format != Format::kDefault ||
        graph_.var(value).type.bytes() != graph_.var(state).type.bytes()) {
      return;
    }
    std::vector<RunsBefore> edges;
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const int reader = static_cast<int>(n);
      const std::vector<int>& inputs = graph_.node(reader).inputs;
      const auto reads = [&](int input) { return use.state[input] == state; };
      if (!model_.scheduled[n] || reader == update ||
          std::none_of(inputs.begin(), inputs.end(), reads)) {
        continue;
      }
      if (reader > maker) return;
      if (reader < maker) {
        edges.push_back({reader, maker});
      } else if (!MayOverwrite(maker, value, use)) {
        return;
      }
    }
    in_state_[value] = state;
    made_before_.insert(made_before_.end(), edges.begin(), edges.end());
  }

  // Returns whether a node may write this output over the state that it reads once.
  bool MayOverwrite(int index, int output, const StateUse& use) const {
    const OperatorNode& node = graph_.node(index);
    return std::any_of(aliasing_[index].overwrites.begin(), aliasing_[index].overwrites.end(),
                       [&](const Aliasing::Overwrite& overwrite) {
                         const int given = node.inputs[overwrite.input];
                         const auto shares = [&](int input) {
                           return use.state[input] == use.state[given];
                         };
                         return node.outputs[overwrite.output] == output && use.state[given] >= 0 &&
                                graph_.var(given).type.bytes() == graph_.var(output).type.bytes() &&
                                std::count_if(node.inputs.begin(), node.inputs.end(), shares) == 1;
                       });
  }

  // Returns whether a var has a computed storage of its own without placements, and this node reads
  // it once, as its only reader.
  bool IsReadOnceBy(int index, int var) const {
    const std::vector<int>& inputs = graph_.node(index).inputs;
    const int producer = graph_.var(var).producer;
    return graph_.readers(var).size() == 1 && std::count(inputs.begin(), inputs.end(), var) == 1 &&
           !IsOutput(graph_, var) && graph_.node(producer).op->role() == Role::kCompute &&
           aliasing_[producer].placements.empty();
  }

  // Returns the var that this one is a view of, directly or indirectly, or itself.
  int RootOf(int var) const {
    for (bool is_view = true; is_view;) {
      const OperatorNode& node = graph_.node(graph_.var(var).producer);
      is_view = false;
      for (const Aliasing::View& view : aliasing_[graph_.var(var).producer].views) {
        if (is_view || node.outputs[view.output] != var) continue;
        var = node.inputs[view.input];
        is_view = true;
      }
    }
    return var;
  }

  // Returns whether every computed input of a node is an output or an input of the node before it.
  bool MayFollow(int index, int before) const {
    const std::vector<int>& inputs = graph_.node(index).inputs;
    const std::vector<int>& earlier = graph_.node(before).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](int input) {
      const int root = RootOf(input), producer = graph_.var(root).producer;
      return producer == before || graph_.node(producer).op->role() != Role::kCompute ||
             std::any_of(earlier.begin(), earlier.end(),
                         [&](int other) { return RootOf(other) == root; });
    });
  }

  void AddNode(int index) {
    const OperatorNode& node = graph_.node(index);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int storage = model_.views[node.inputs[i]].storage;
      if (storage < 0 || !ReadsOnDevice(node, i)) continue;
      if (AddLast(model_.storages[storage].readers, index)) model_.reads[index].push_back(storage);
    }
    if (node.op->role() == Role::kCompute) {
      if (options_.views) AddViews(node, aliasing_[index].views);
      AddUpdates(node, aliasing_[index].updates);
      MakeInStates(node);
      ContinueStorages(node);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int output = node.outputs[i];
      const Var& var = graph_.var(output);
      if (var.type.bytes() == 0 || model_.views[output].storage >= 0) continue;
      model_.views[output] = {static_cast<int>(model_.storages.size()), 0};
      model_.writes[index].push_back(static_cast<int>(model_.storages.size()));
      model_.storages.push_back({.owner = output,
                                 .bytes = var.type.bytes(),
                                 .pool = PoolOf(node, static_cast<int>(i), ends_),
                                 .producer = index});
    }
    if (options_.moves) AddMoves(node, index, aliasing_[index].moves);
  }

  // Notes that a node moves its input, unless it reads that storage in other ways, too.
  void AddMoves(const OperatorNode& node, int index, const std::vector<Aliasing::Move>& moves) {
    for (const Aliasing::Move& move : moves) {
      const int source = model_.views[node.inputs[move.input]].storage;
      const auto is_source = [&](int var) { return model_.views[var].storage == source; };
      if (source < 0 || is_source(node.outputs[move.output])) continue;
      if (std::count_if(node.inputs.begin(), node.inputs.end(), is_source) != 1) continue;
      model_.storages[source].mover = index;
    }
  }

  // Adds outputs that are views of inputs.
  void AddViews(const OperatorNode& node, const std::vector<Aliasing::View>& views) {
    for (const Aliasing::View& view : views) {
      const VarView source = model_.views[node.inputs[view.input]];
      const int output = node.outputs[view.output];
      if (source.storage < 0 || !IsAligned(source.offset + view.offset)) continue;
      if (graph_.var(output).type.bytes() == 0) continue;
      model_.views[output] = {source.storage, source.offset + view.offset};
    }
  }

  // Adds outputs that are states, changed in place.
  void AddUpdates(const OperatorNode& node, const std::vector<Aliasing::Update>& updates) {
    for (const Aliasing::Update& update : updates) {
      const VarView source = model_.views[node.inputs[update.input]];
      if (source.storage < 0 || model_.storages[source.storage].pool != Pool::kState) continue;
      model_.views[node.outputs[update.output]] = source;
      model_.updated[node.outputs[update.output]] = true;
    }
  }

  // Adds outputs that are computed in a state's storage.
  void MakeInStates(const OperatorNode& node) {
    for (const int output : node.outputs) {
      const int state = in_state_[output];
      if (state < 0 || model_.views[output].storage >= 0) continue;
      model_.views[output] = model_.views[state];
      model_.updated[output] = true;
    }
  }

  // Adds outputs that are written into the storage of an input without other readers.
  void ContinueStorages(const OperatorNode& node) {
    for (const int output : node.outputs) {
      const int given = continued_[output];
      if (given < 0 || model_.views[output].storage >= 0 || !CoversStorage(given)) continue;
      const VarView source = model_.views[given];
      const Storage& storage = model_.storages[source.storage];
      const bool is_own = storage.producer == graph_.var(given).producer || model_.updated[given];
      if (storage.pool != Pool::kArena || !is_own ||
          graph_.var(output).type.bytes() != storage.bytes) {
        continue;
      }
      model_.views[output] = source;
      model_.updated[output] = true;
    }
  }

  // Adds edges: readers of a version of a state run before the node that computes the next one.
  void OrderUpdates() {
    if (std::find(model_.updated.begin(), model_.updated.end(), true) == model_.updated.end()) {
      return;
    }
    const StateUse use = FindStateUse(graph_);
    std::map<std::pair<int, int>, std::vector<int>> readers;  // by state and version
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!model_.scheduled[i]) continue;
      const int index = static_cast<int>(i);
      const OperatorNode& node = graph_.node(index);
      for (const int output : node.outputs) {
        if (!model_.updated[output] || use.state[output] < 0) continue;
        for (const int input : node.inputs) {
          if (use.state[input] != use.state[output]) continue;
          for (const int reader : readers[{use.state[input], use.version[input]}]) {
            model_.runs_before.push_back({reader, index});
          }
        }
      }
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        const int input = node.inputs[k];
        if (use.state[input] < 0 || !ReadsOnDevice(node, k)) continue;
        AddLast(readers[{use.state[input], use.version[input]}], index);
      }
    }
    model_.runs_before.insert(model_.runs_before.end(), made_before_.begin(), made_before_.end());
  }

  bool IsAligned(int64_t offset) const { return offset % options_.view_alignment == 0; }

  // Outputs with a storage of their own are written directly into the caller's tensor.
  void BindToCaller() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const int storage = model_.views[graph_.inputs()[i].var].storage;
      if (storage >= 0) model_.storages[storage].binding = static_cast<int>(i);
    }
    for (size_t i = 0; i + ends_.outputs_in_arena < graph_.outputs().size(); ++i) {
      const int var = graph_.outputs()[i].var;
      if (!CoversStorage(var) || graph_.var(var).type.format != Format::kDefault) continue;
      Storage& storage = model_.storages[model_.views[var].storage];
      const bool is_input = graph_.node(storage.producer).op->role() == Role::kInput;
      if (storage.pool != Pool::kArena || is_input) continue;
      storage.pool = Pool::kOutput;
      storage.binding = static_cast<int>(i);
    }
  }

  bool CoversStorage(int var) const {
    const VarView view = model_.views[var];
    return view.storage >= 0 && view.offset == 0 &&
           graph_.var(var).type.bytes() == model_.storages[view.storage].bytes;
  }

  // Returns the storage in the arena that begins with an output of a node, or -1.
  int OwnOutput(int index, int output) const {
    const int storage = model_.views[graph_.node(index).outputs[output]].storage;
    if (storage < 0 || model_.storages[storage].producer != index) return -1;
    return model_.storages[storage].pool == Pool::kArena ? storage : -1;
  }

  void AddOverwrites(int index) {
    const OperatorNode& node = graph_.node(index);
    for (const Aliasing::Overwrite& overwrite : aliasing_[index].overwrites) {
      const int made = OwnOutput(index, overwrite.output);
      const VarView view = model_.views[node.inputs[overwrite.input]];
      if (made < 0 || view.storage < 0 || model_.storages[view.storage].pool != Pool::kArena)
        continue;
      // Another input in the same storage would be overwritten while it is read.
      int uses = 0;
      for (int other : node.inputs) uses += model_.views[other].storage == view.storage;
      if (uses == 1) model_.overwrites[index].push_back({made, view.storage, view.offset});
    }
  }

  void AddPlacements(int index) {
    const OperatorNode& node = graph_.node(index);
    for (const Aliasing::Placement& placement : aliasing_[index].placements) {
      const int outer = OwnOutput(index, placement.output);
      const int var = node.inputs[placement.input];
      const int inner = model_.views[var].storage;
      if (outer < 0 || inner < 0 || !CoversStorage(var) ||
          model_.storages[inner].pool != Pool::kArena || placed_[inner] ||
          !IsAligned(placement.offset)) {
        continue;
      }
      placed_[inner] = true;
      model_.placements[index].push_back({inner, outer, placement.offset});
    }
  }

  const Graph& graph_;
  const StorageOptions options_;
  const PartEnds ends_;
  StorageModel model_;
  std::vector<Aliasing> aliasing_ = std::vector<Aliasing>(graph_.nodes().size());  // by node
  // By var: the input of its node in whose storage it is written, or -1.
  std::vector<int> continued_ = std::vector<int>(graph_.vars().size(), -1);
  // By var: the state in whose storage it is computed, or -1.
  std::vector<int> in_state_ = std::vector<int>(graph_.vars().size(), -1);
  std::vector<RunsBefore> made_before_;  // readers of these states, and the nodes that write them
  std::vector<bool> placed_ = std::vector<bool>(graph_.vars().size(), false);  // by storage
};

}  // namespace

bool IsOutput(const Graph& graph, int var) {
  const auto& outputs = graph.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Binding& output) { return output.var == var; });
}

std::vector<bool> ScheduledNodes(const Graph& graph) {
  std::vector<bool> scheduled = FindStateUse(graph).updates;
  for (int i = static_cast<int>(graph.nodes().size()) - 1; i >= 0; --i) {
    const OperatorNode& node = graph.node(i);
    if (node.op->role() == Role::kInput || node.op->role() == Role::kOutput) scheduled[i] = true;
    if (!scheduled[i]) continue;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (ReadsOnDevice(node, k)) scheduled[graph.var(node.inputs[k]).producer] = true;
    }
  }
  return scheduled;
}

StorageModel BuildStorageModel(const Graph& graph, const StorageOptions& options) {
  const PartEnds ends = {.inputs_in_arena = options.release_inputs,
                         .inputs_released = options.release_inputs};
  return Builder(graph, options, ends).Build();
}

StorageModel BuildPartStorageModel(const Graph& graph, const StorageOptions& options,
                                   const PartEnds& ends) {
  return Builder(graph, options, ends).Build();
}

}  // namespace ashlar

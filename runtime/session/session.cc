#include "runtime/session/session.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "runtime/device/allocation_origin.h"

namespace ashlar {
namespace {

// Does nothing, at no cost.
struct NoListener {
  void OnRunBegin() {}
  void OnStepBegin(int) {}
  void OnStepEnd(int) {}
  void OnRunEnd() {}
};

int FindBinding(const std::vector<Binding>& bindings, absl::string_view name) {
  for (size_t i = 0; i < bindings.size(); ++i) {
    if (name == bindings[i].name) return static_cast<int>(i);
  }
  return -1;
}

// InvalidArgument where a tensor in the device's memory begins at an address that kernels cannot
// take.
absl::Status CheckAlignment(const Device& device, absl::string_view name, const void* data) {
  const int64_t alignment = device.tensor_alignment();
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' begins at no multiple of ",
                                                 alignment, " bytes, as tensors have to on ",
                                                 device.comp_node().ToString()));
}

absl::Status CheckTensor(const Graph& graph, const std::vector<Binding>& bindings, int index,
                         absl::string_view what, absl::string_view name, int64_t bytes) {
  if (index < 0) {
    return absl::NotFoundError(absl::StrCat(
        "no ", what, " '", name,
        "'; the model has: ", absl::StrJoin(bindings, ", ", [](std::string* out, const Binding& b) {
          out->append(b.name);
        })));
  }
  const TensorType& type = graph.var(bindings[index].var).type;
  if (bytes == type.bytes()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " '", name, "' has ", bytes,
                                                 " bytes, expected ", type.bytes(), " for ",
                                                 type.ToString()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::shared_ptr<const Executable> executable, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(std::move(executable)));
  ASHLAR_RETURN_IF_ERROR(session->Prepare(options));
  return session;
}

absl::Status Session::Prepare(const SessionOptions& options) {
  const PlannedGraph& planned = executable_->planned();
  const Graph& graph = planned.graph;
  ASHLAR_RETURN_IF_ERROR(planned.ready());
  planned.device->UseThreads(planned.options.threads);
  record_ = options.record;
  shares_arena_ = options.arena != nullptr;
  arena_ = options.arena;
  if (!shares_arena_) {
    ASHLAR_ASSIGN_OR_RETURN(
        arena_, planned.device->Allocate(planned.plan.plan.arena + options.arena_slack));
  }
  bound_inputs_.resize(graph.inputs().size());
  bound_outputs_.resize(graph.outputs().size());
  if (!planned.device->is_host()) ASHLAR_RETURN_IF_ERROR(PrepareStream(*planned.device));
  steps_.resize(planned.schedule.order.size());
  for (size_t position = 0; position < steps_.size(); ++position) {
    const int index = planned.schedule.order[position];
    const Kernel* kernel = planned.kernels[index].get();
    if (kernel == nullptr) continue;
    Step& step = steps_[position];
    step.kernel = kernel;
    ASHLAR_ASSIGN_OR_RETURN(step.state, kernel->NewState());
    const OperatorNode& node = graph.node(index);
    step.inputs.resize(node.inputs.size(), nullptr);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ResolveInput(index, static_cast<int>(i), &step.inputs[i]);
    }
    const std::vector<int>& outputs = node.outputs;
    step.outputs.resize(outputs.size(), nullptr);
    if (node.op->role() == Role::kOutput) {  // copies its input to the caller
      for (size_t i = 0; i < graph.outputs().size(); ++i) {
        if (graph.outputs()[i].node != index) continue;
        bound_outputs_[i].outputs.push_back({&step.outputs[0], 0});
      }
    } else {
      for (size_t i = 0; i < outputs.size(); ++i) ResolveOutput(outputs[i], &step.outputs[i]);
    }
    if (const int64_t offset = planned.WorkspaceOffset(index); offset >= 0) {
      step.workspace = static_cast<char*>(arena_->data()) + offset;
    }
    step.args = {step.inputs, absl::MakeSpan(step.outputs), step.workspace, stream_.get()};
  }
  return absl::OkStatus();
}

void Session::ResolveInput(int node, int input, const void** slot) {
  const PlannedGraph& planned = executable_->planned();
  const Graph& graph = planned.graph;
  const OperatorNode& reader = graph.node(node);
  if (reader.op->input_use(input) != InputUse::kDeviceValue) return;
  const VarView view = planned.model.views[reader.inputs[input]];
  if (view.storage < 0) return;
  const Storage& storage = planned.model.storages[view.storage];
  switch (storage.pool) {
    case Pool::kArena:
      *slot = static_cast<char*>(arena_->data()) + planned.ArenaOffset(reader.inputs[input]);
      break;
    case Pool::kWeights: {
      const WeightEntry& entry = planned.weights.entries[planned.weights.by_input[node][input]];
      *slot = static_cast<const char*>(executable_->weights()) + entry.offset + view.offset;
      break;
    }
    case Pool::kInput:
      bound_inputs_[storage.binding].inputs.push_back({slot, view.offset});
      break;
    case Pool::kOutput:
      bound_outputs_[storage.binding].inputs.push_back({slot, view.offset});
      break;
  }
}

void Session::ResolveOutput(int var, void** slot) {
  const PlannedGraph& planned = executable_->planned();
  const VarView view = planned.model.views[var];
  if (view.storage < 0) return;
  const Storage& storage = planned.model.storages[view.storage];
  if (storage.pool == Pool::kArena) {
    *slot = static_cast<char*>(arena_->data()) + planned.ArenaOffset(var);
  } else {
    bound_outputs_[storage.binding].outputs.push_back({slot, view.offset});
  }
}

void Session::PointTo(Bound& bound, void* data) {
  bound.data = data;
  for (const InputSlot& slot : bound.inputs) {
    *slot.slot = static_cast<const char*>(data) + slot.offset;
  }
  for (const OutputSlot& slot : bound.outputs) {
    *slot.slot = static_cast<char*>(data) + slot.offset;
  }
}

absl::Status Session::BindInput(absl::string_view name, const void* data, int64_t bytes) {
  if (stream_ == nullptr) return BindDeviceInput(name, data, bytes);
  const std::vector<Binding>& inputs = executable_->graph().inputs();
  const int index = FindBinding(inputs, name);
  ASHLAR_RETURN_IF_ERROR(CheckTensor(executable_->graph(), inputs, index, "input", name, bytes));
  Bound& bound = bound_inputs_[index];
  if (!bound.done || bound.host_input == nullptr) {
    PointTo(bound, static_cast<char*>(tensors_->data()) + bound.offset);
    recording_ = Recording::kNone;
  }
  bound.done = true;
  bound.host_input = data;
  return absl::OkStatus();
}

absl::Status Session::BindOutput(absl::string_view name, void* data, int64_t bytes) {
  if (stream_ == nullptr) return BindDeviceOutput(name, data, bytes);
  const std::vector<Binding>& outputs = executable_->graph().outputs();
  const int index = FindBinding(outputs, name);
  ASHLAR_RETURN_IF_ERROR(CheckTensor(executable_->graph(), outputs, index, "output", name, bytes));
  Bound& bound = bound_outputs_[index];
  if (!bound.done || bound.host_output == nullptr) {
    PointTo(bound, static_cast<char*>(tensors_->data()) + bound.offset);
    recording_ = Recording::kNone;
  }
  bound.done = true;
  bound.host_output = data;
  return absl::OkStatus();
}

absl::Status Session::BindDeviceInput(absl::string_view name, const void* data, int64_t bytes) {
  const std::vector<Binding>& inputs = executable_->graph().inputs();
  const int index = FindBinding(inputs, name);
  ASHLAR_RETURN_IF_ERROR(CheckTensor(executable_->graph(), inputs, index, "input", name, bytes));
  ASHLAR_RETURN_IF_ERROR(CheckAlignment(*executable_->planned().device, name, data));
  Bound& bound = bound_inputs_[index];
  if (bound.done && bound.host_input == nullptr && bound.data == data) return absl::OkStatus();
  PointTo(bound, const_cast<void*>(data));  // input slots hold pointers to const
  bound.done = true;
  bound.host_input = nullptr;
  recording_ = Recording::kNone;
  return absl::OkStatus();
}

absl::Status Session::BindDeviceOutput(absl::string_view name, void* data, int64_t bytes) {
  const std::vector<Binding>& outputs = executable_->graph().outputs();
  const int index = FindBinding(outputs, name);
  ASHLAR_RETURN_IF_ERROR(CheckTensor(executable_->graph(), outputs, index, "output", name, bytes));
  ASHLAR_RETURN_IF_ERROR(CheckAlignment(*executable_->planned().device, name, data));
  Bound& bound = bound_outputs_[index];
  if (bound.done && bound.host_output == nullptr && bound.data == data) return absl::OkStatus();
  PointTo(bound, data);
  bound.done = true;
  bound.host_output = nullptr;
  recording_ = Recording::kNone;
  return absl::OkStatus();
}

absl::Status Session::CheckBound() const {
  const Graph& graph = executable_->graph();
  for (size_t i = 0; i < bound_inputs_.size(); ++i) {
    if (bound_inputs_[i].done) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("input '", graph.inputs()[i].name, "' is not bound"));
  }
  for (size_t i = 0; i < bound_outputs_.size(); ++i) {
    if (bound_outputs_[i].done) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("output '", graph.outputs()[i].name, "' is not bound"));
  }
  return absl::OkStatus();
}

template <typename Listener>
absl::Status Session::Loop(Listener& listener) {
  ASHLAR_RETURN_IF_ERROR(CheckBound());
  const PlannedGraph& planned = executable_->planned();
  planned.device->UseThreads(planned.options.threads);
  const OriginScope scope(AllocationOrigin::kOwn);
  listener.OnRunBegin();
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    listener.OnStepBegin(static_cast<int>(i));
    if (step.kernel != nullptr) {
      if (absl::Status status = step.kernel->Run(step.args, step.state.get()); !status.ok()) {
        const OperatorNode& node = planned.graph.node(planned.schedule.order[i]);
        return Annotate(status, Describe(node));
      }
    }
    listener.OnStepEnd(static_cast<int>(i));
  }
  listener.OnRunEnd();
  return absl::OkStatus();
}

absl::Status Session::Start() {
  if (stream_ != nullptr) return StartOnStream(nullptr);
  NoListener listener;
  return Loop(listener);
}

absl::Status Session::StartAfter(Session& previous) {
  return stream_ == nullptr ? Start() : StartOnStream(&previous);
}

absl::Status Session::Wait() { return stream_ == nullptr ? absl::OkStatus() : WaitOnStream(); }

absl::Status Session::Run() {
  ASHLAR_RETURN_IF_ERROR(Start());
  return Wait();
}

absl::Status Session::Run(RunListener& listener) {
  return stream_ == nullptr ? Loop(listener) : RunOnStream(listener);
}

}  // namespace ashlar

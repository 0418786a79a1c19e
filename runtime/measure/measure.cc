#include "runtime/measure/measure.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/status.h"
#include "runtime/device/changed_bytes.h"
#include "runtime/device/code_pages.h"
#include "runtime/device/guarded_memory.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/session/session.h"

namespace ashlar {
namespace {

constexpr int64_t kSlack = 1 << 16;  // small in comparison with the resident set
constexpr int kPatterns[] = {0xA5, 0x5A};

// While this object lives, an access to a guard page ends the process with a message and an exit
// code.
class FaultHandler {
 public:
  explicit FaultHandler(int exit_code) {
    exit_code_ = exit_code;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      static constexpr char kMessage[] =
          "error: a kernel accessed memory outside of the caller's input or output tensor\n";
      [[maybe_unused]] const ssize_t written = write(2, kMessage, sizeof(kMessage) - 1);
      _exit(exit_code_);
    };
    sigaction(SIGSEGV, &action, &previous_);
  }
  ~FaultHandler() { sigaction(SIGSEGV, &previous_, nullptr); }

 private:
  static inline int exit_code_ = 0;
  struct sigaction previous_ = {};
};

// The caller's tensors of a session, in guarded memory.
class GuardedTensors {
 public:
  // Takes the tensors one by one, so that each is in memory once.
  absl::Status Bind(Session& session, InputTensors inputs) {
    const Graph& graph = session.executable().graph();
    for (const Binding& binding : graph.inputs()) {
      const auto it = inputs.find(binding.name);
      if (it == inputs.end()) {
        return absl::InvalidArgumentError(absl::StrCat("no tensor for input '", binding.name, "'"));
      }
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<GuardedMemory> memory,
                              GuardedMemory::Allocate(it->second.bytes()));
      const HostTensor& tensor = it->second;
      std::memcpy(memory->data(), tensor.raw(), static_cast<size_t>(tensor.bytes()));
      ASHLAR_RETURN_IF_ERROR(memory->MakeReadOnly());
      ASHLAR_RETURN_IF_ERROR(session.BindInput(binding.name, memory->data(), memory->bytes()));
      given_.emplace_back(binding.name, HostTensor::ShapeOnly(tensor.dtype(), tensor.shape()));
      inputs_.push_back(std::move(memory));
      inputs.erase(it);
    }
    for (const Binding& binding : graph.outputs()) {
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<GuardedMemory> memory,
                              GuardedMemory::Allocate(graph.var(binding.var).type.bytes()));
      ASHLAR_RETURN_IF_ERROR(session.BindOutput(binding.name, memory->data(), memory->bytes()));
      outputs_.push_back(std::move(memory));
    }
    return absl::OkStatus();
  }

  // Returns copies of the inputs in ordinary memory.
  InputTensors GiveBack() const {
    InputTensors inputs;
    for (size_t i = 0; i < given_.size(); ++i) {
      const auto& [name, shape] = given_[i];
      HostTensor tensor = HostTensor::Zeros(shape.dtype(), shape.shape());
      std::memcpy(tensor.mutable_raw(), inputs_[i]->data(), static_cast<size_t>(tensor.bytes()));
      inputs[name] = std::move(tensor);
    }
    return inputs;
  }

  void FillOutputs(int pattern) {
    for (auto& memory : outputs_) {
      std::memset(memory->data(), pattern, static_cast<size_t>(memory->bytes()));
    }
  }

  // Raises `highest` to the highest changed byte of each output.
  void RaiseHighest(int pattern, std::vector<int64_t>& highest) const {
    highest.resize(outputs_.size(), 0);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      highest[i] = std::max(highest[i], HighestChanged(outputs_[i]->data(), outputs_[i]->bytes(),
                                                       static_cast<uint8_t>(pattern)));
    }
  }

  int64_t input_bytes() const {
    int64_t bytes = 0;
    for (const auto& memory : inputs_) bytes += memory->bytes();
    return bytes;
  }

 private:
  std::vector<std::unique_ptr<GuardedMemory>> inputs_, outputs_;
  std::vector<std::pair<std::string, HostTensor>> given_;  // names and shapes of the inputs
};

// Fills the guard after a chunk when its lifetime begins, and checks all live guards after each
// step.
class GuardListener final : public RunListener {
 public:
  GuardListener(const PlannedGraph& planned, void* arena)
      : planned_(planned), device_(*planned.device), arena_(static_cast<uint8_t*>(arena)) {
    for (size_t s = 0; s < planned.model.storages.size(); ++s) {
      const int owner = planned.model.storages[s].owner;
      Add(planned.lifetimes.storage_buffer[s], planned.Locate(owner),
          planned.graph.var(owner).name);
    }
    for (size_t n = 0; n < planned.graph.nodes().size(); ++n) {
      const int node = static_cast<int>(n);
      Add(planned.lifetimes.workspace_buffer[n], planned.LocateWorkspace(node),
          planned.graph.node(node).workspace_name());
    }
  }

  void OnStepBegin(int step) override {
    for (const Guard& guard : guards_) {
      if (guard.lower == step) Fill(guard);
    }
  }

  void OnStepEnd(int step) override {
    for (const Guard& guard : guards_) {
      if (step < guard.lower || step >= guard.upper || !IsChanged(guard)) continue;
      const OperatorNode& node = planned_.graph.node(planned_.schedule.order[step]);
      overruns_.push_back(absl::StrCat(Describe(node), " wrote past the chunk of ", guard.chunk));
      Fill(guard);
    }
  }

  bool reads_memory() const override { return true; }

  // Returns the overruns, or an error of the checks.
  absl::StatusOr<std::vector<std::string>> overruns() && {
    if (!status_.ok()) return status_;
    return std::move(overruns_);
  }

 private:
  struct Guard {
    uint8_t* begin;
    int64_t bytes;
    int64_t lower, upper;  // steps
    std::string chunk;     // the var, or the workspace's node
  };

  void Fill(const Guard& guard) { status_.Update(device_.Fill(guard.begin, kGuard, guard.bytes)); }

  bool IsChanged(const Guard& guard) {
    const absl::StatusOr<int64_t> highest =
        HighestChangedOn(device_, guard.begin, guard.bytes, kGuard);
    status_.Update(highest.status());
    return highest.ok() && *highest > 0;
  }

  void Add(int index, const std::optional<Location>& location, std::string chunk) {
    if (index < 0 || !location.has_value()) return;  // not in the arena
    const memory::Buffer& buffer = planned_.lifetimes.problem.buffers[index];
    const int64_t used = location->bytes;
    if (buffer.size <= used) return;  // placed inside another chunk: no guard
    guards_.push_back({arena_ + location->offset + used, buffer.size - used, buffer.lower,
                       buffer.upper, std::move(chunk)});
  }

  static constexpr uint8_t kGuard = 0xA5;

  const PlannedGraph& planned_;
  Device& device_;
  uint8_t* const arena_;
  absl::Status status_;
  std::vector<Guard> guards_;
  std::vector<std::string> overruns_;
};

// The device's free memory at one moment.
class FreeBytes {
 public:
  explicit FreeBytes(const CompNode& comp_node) {
    const absl::StatusOr<Device*> device = OpenDevice(comp_node);
    if (device.ok()) state_ = (*device)->memory();
  }
  bool known() const { return state_.has_value(); }
  int64_t bytes() const { return state_.has_value() ? state_->free : 0; }

 private:
  std::optional<MemoryState> state_;
};

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (int64_t value : values) sum += value;
  return sum;
}

}  // namespace

absl::StatusOr<Measurement> Measure(Graph graph, const PlanRequest& request, InputTensors inputs,
                                    const MeasureOptions& measure) {
  const auto plan = [&]() -> absl::StatusOr<PlanToMeasure> {
    PlanToMeasure made;
    ASHLAR_ASSIGN_OR_RETURN(made.planned, PlanGraph(std::move(graph), request));
    return made;
  };
  return MeasurePlan(plan, request, std::move(inputs), measure);
}

absl::StatusOr<Measurement> MeasurePlan(
    absl::FunctionRef<absl::StatusOr<PlanToMeasure>()> make_plan, const PlanRequest& request,
    InputTensors inputs, const MeasureOptions& measure) {
  Measurement result;
  const CompNode& comp_node = request.target.comp_node;
  result.rss_before = ReadResidentSet().current;
  const FreeBytes at_start(comp_node);
  ASHLAR_ASSIGN_OR_RETURN(PlanToMeasure made, make_plan());
  const FreeBytes planned_only(comp_node);
  const bool in_file = made.packed != nullptr;
  const PlannedGraph& to_run = in_file ? made.packed->planned() : *made.planned;
  if (to_run.device->is_host()) {
    result.need = NeedOf(to_run, ProcessBytes(to_run.request.target.threads), in_file);
    result.addresses = AddressesNeeded(to_run, in_file);
    ASHLAR_RETURN_IF_ERROR(CheckAddresses(result.addresses));
  }
  ReturnFreedMemory();
  if (to_run.weights.window) {
    LockCodeOnUse(CodeOf::kProgram).IgnoreError();
  } else {
    LetGoOfCode();
  }
  if (request.target.total) {
    ASHLAR_RETURN_IF_ERROR(CheckPlanningPeak(request.target.total->bytes));
  }
  std::shared_ptr<const Executable> executable = std::move(made.packed);
  if (!in_file) {
    ASHLAR_ASSIGN_OR_RETURN(
        executable, Executable::FromPlan(std::move(made.planned),
                                         {.measure = true, .done_with = measure.done_with}));
    ReturnFreedMemory();
  }
  const PlannedGraph& plan = executable->planned();
  const PlanRequest settled = plan.SettledRequest();
  result.target = settled.target;
  result.target.budget.reset();
  result.target.total.reset();
  result.weights_budget = std::exchange(result.target.weights_budget, std::nullopt);
  result.planning = settled.planning;
  result.record_use = CountRecordUse(plan);
  Device& device = *plan.device;
  ASHLAR_ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      Session::Create(executable, {.arena_slack = kSlack + request.debug.understate_bytes,
                                   .state_slack = plan.state.bytes > 0 ? kSlack : 0,
                                   .window_slack = kSlack}));
  const FreeBytes created(comp_node);
  const FaultHandler handler(measure.exit_code_on_fault);
  GuardedTensors tensors;
  ASHLAR_RETURN_IF_ERROR(tensors.Bind(*session, std::move(inputs)));

  DeviceMemory& arena = session->arena();
  StreamedWeights* const streamed = executable->streamed();
  // The bytes after the states; nobody may change the states' own bytes.
  PatternedEnd state(device, session->state()->memory(), plan.state.bytes);
  LetGoOfCode();  // of opening the session; runs touch the arena
  int64_t arena_highest = 0, state_highest = 0, window_highest = 0;
  std::vector<int64_t> output_highest;
  for (int pattern : kPatterns) {
    const uint8_t byte = static_cast<uint8_t>(pattern);
    ASHLAR_RETURN_IF_ERROR(device.Fill(arena.data(), byte, arena.bytes()));
    tensors.FillOutputs(pattern);
    ASHLAR_RETURN_IF_ERROR(state.Fill(byte));
    if (streamed != nullptr) ASHLAR_RETURN_IF_ERROR(streamed->Fill(byte));
    ASHLAR_RETURN_IF_ERROR(session->Run());
    ASHLAR_ASSIGN_OR_RETURN(const int64_t state_end, state.Written(byte));
    state_highest = std::max(state_highest, state_end);
    ASHLAR_ASSIGN_OR_RETURN(const int64_t highest,
                            HighestChangedOn(device, arena.data(), arena.bytes(), byte));
    arena_highest = std::max(arena_highest, highest);
    if (streamed != nullptr) {
      ASHLAR_ASSIGN_OR_RETURN(const int64_t end, streamed->Highest(byte));
      window_highest = std::max(window_highest, end);
    }
    tensors.RaiseHighest(pattern, output_highest);
  }
  result.runs_counted = std::max(measure.runs, 2) - 1;
  int64_t kept_most = 0;  // the largest growth of the libraries' memory in one run, bytes
  for (int i = 0; i < result.runs_counted; ++i) {
    StartHeapCounting();
    const absl::Status status = session->Run();
    const HeapCounts run = StopHeapCounting();
    ASHLAR_RETURN_IF_ERROR(status);
    result.heap.own_calls += run.own_calls;
    result.heap.own_bytes += run.own_bytes;
    result.heap.library_calls += run.library_calls;
    result.heap.library_net_bytes += run.library_net_bytes;
    kept_most = std::max(kept_most, run.library_net_bytes);
  }
  const ResidentSet resident = ReadResidentSet();
  result.rss_after = resident.current;
  result.rss_peak = resident.peak;
  result.inputs = tensors.GiveBack();

  result.arena = {plan.plan.plan.arena, arena_highest, "highest byte changed in a patterned arena"};
  result.weights = {plan.weights.memory_bytes(),
                    streamed != nullptr ? window_highest
                    : in_file           ? plan.weights.bytes
                                        : executable->weights_written(),
                    streamed != nullptr ? "highest byte changed in a patterned window"
                    : in_file           ? "read-only, packed in the mapped file"
                                        : "highest byte changed in a patterned pool"};
  result.state = {plan.state.bytes, state_highest, "highest byte changed past the planned ones"};
  // Donated inputs are copied into the arena here; a caller may write them there directly.
  const int64_t released = plan.released_bytes();
  result.input = {plan.input_bytes(), tensors.input_bytes() - released,
                  released > 0 ? absl::StrCat("given up: ", released, " bytes of the arena")
                               : "read-only, ends at a guard page"};
  result.output = {plan.output_bytes(), Sum(output_highest),
                   "highest byte changed, ends at a guard page"};
  if (at_start.known()) {
    const int64_t asked = session->device_bytes() + executable->weights_bytes();
    const int64_t taken = planned_only.bytes() - created.bytes();
    result.device = {asked, taken, at_start.bytes() - FreeBytes(comp_node).bytes() - taken};
  }
  result.ok = true;
  for (const PoolMeasurement* pool :
       {&result.arena, &result.weights, &result.state, &result.input, &result.output}) {
    result.ok = result.ok && pool->actual_bytes <= pool->planned_bytes;
  }
  // Libraries may keep blocks for later, somewhat larger than requested: the largest growth of one
  // run of several is allowed.
  const int64_t forgiven = result.runs_counted > 1 ? kept_most : 0;
  // Memory that a device's driver keeps, on its own threads, is reported but not judged.
  const int64_t judged = device.is_host() ? result.heap.library_net_bytes - forgiven : 0;
  result.ok = result.ok && result.heap.own_calls == 0 && judged <= 0;
  return result;
}

absl::StatusOr<std::vector<std::string>> CheckGuards(Graph graph, PlanRequest request,
                                                     const InputTensors& inputs,
                                                     const DoneWith& done_with) {
  request.debug.guard_bytes = kGuardBytes;
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), request, done_with));
  return CheckGuards(executable, inputs);
}

absl::StatusOr<std::vector<std::string>> CheckGuards(
    const std::shared_ptr<const Executable>& executable, const InputTensors& inputs) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(executable));
  const FaultHandler handler(MeasureOptions().exit_code_on_fault);
  GuardedTensors tensors;
  ASHLAR_RETURN_IF_ERROR(tensors.Bind(*session, inputs));
  GuardListener listener(executable->planned(), session->arena().data());
  ASHLAR_RETURN_IF_ERROR(session->Run(listener));
  return std::move(listener).overruns();
}

}  // namespace ashlar

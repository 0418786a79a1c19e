#include "runtime/session/session.h"

#include "graph/status.h"
#include "runtime/session/arena_memory.h"

namespace ashlar {

absl::StatusOr<std::unique_ptr<Session>> Session::Create(
    std::shared_ptr<const Executable> executable, const SessionOptions& options) {
  std::unique_ptr<Session> session(new Session(std::move(executable)));
  ASHLAR_RETURN_IF_ERROR(session->Prepare(options));
  return session;
}

absl::Status Session::Prepare(const SessionOptions& options) {
  const PlannedGraph& planned = executable_->planned();
  ASHLAR_RETURN_IF_ERROR(planned.ready());
  Device& device = *planned.device;
  device.UseThreads(planned.request.target.threads);
  if (StreamedWeights* const streamed = executable_->streamed()) {
    ASHLAR_RETURN_IF_ERROR(streamed->Open(options.window_slack));
  }
  arena_ = options.arena;
  if (arena_ == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(arena_, AllocateArena(planned, options.arena_slack));
  }
  ASHLAR_RETURN_IF_ERROR(CheckArenaAddress(arena_->data(), planned.arena_alignment()));
  state_ = options.state;
  if (state_ == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(state_, StateMemory::Create(planned, options.state_slack));
  }
  ASHLAR_RETURN_IF_ERROR(state_->CheckHolds(planned.state));
  for (size_t i = 0; i < planned.graph.inputs().size(); ++i) {
    if (!planned.is_released(static_cast<int>(i))) continue;
    const int64_t offset = planned.Locate(planned.graph.inputs()[i].var)->offset;
    binder_.Release(static_cast<int>(i), static_cast<char*>(arena_->data()) + offset);
  }
  const RunnerSite site{*executable_, binder_, arena_->data(), *state_};
  if (device.is_host()) {
    if (options.stream != nullptr) return NoStreams();
    ASHLAR_ASSIGN_OR_RETURN(runner_, MakeHostRunner(site));
  } else {
    ASHLAR_ASSIGN_OR_RETURN(
        runner_,
        MakeStreamRunner(site, {options.record, options.arena != nullptr, options.stream}));
  }
  return absl::OkStatus();
}

absl::Status Session::Bind(Binder::Side side, absl::string_view name, void* data, int64_t bytes,
                           Binder::Memory memory) {
  ASHLAR_ASSIGN_OR_RETURN(const bool rebound, binder_.Bind(side, name, data, bytes, memory));
  if (rebound) runner_->OnRebound();
  return absl::OkStatus();
}

// The cast is safe: kernels get pointers to inputs as const.
absl::Status Session::BindInput(absl::string_view name, const void* data, int64_t bytes) {
  return Bind(Binder::Side::kInput, name, const_cast<void*>(data), bytes, Binder::Memory::kHost);
}

absl::Status Session::BindOutput(absl::string_view name, void* data, int64_t bytes) {
  return Bind(Binder::Side::kOutput, name, data, bytes, Binder::Memory::kHost);
}

absl::Status Session::BindDeviceInput(absl::string_view name, const void* data, int64_t bytes) {
  return Bind(Binder::Side::kInput, name, const_cast<void*>(data), bytes, Binder::Memory::kDevice);
}

absl::Status Session::BindDeviceOutput(absl::string_view name, void* data, int64_t bytes) {
  return Bind(Binder::Side::kOutput, name, data, bytes, Binder::Memory::kDevice);
}

absl::Status Session::Start() { return runner_->Start(nullptr); }

absl::Status Session::StartAfter(Session& previous) {
  return runner_->Start(previous.runner_.get());
}

absl::Status Session::Wait() { return runner_->Wait(); }

absl::Status Session::WaitForEvent(void* event) {
  Stream* const stream = runner_->stream();
  return stream == nullptr ? NoStreams() : stream->WaitForEvent(event);
}

absl::Status Session::RecordEvent(void* event) {
  Stream* const stream = runner_->stream();
  return stream == nullptr ? NoStreams() : stream->RecordEvent(event);
}

absl::Status Session::NoStreams() const {
  return absl::UnimplementedError(
      absl::StrCat("device ", executable_->planned().device->comp_node().ToString(),
                   " has no streams and no events"));
}

absl::Status Session::Run() {
  ASHLAR_RETURN_IF_ERROR(Start());
  return Wait();
}

absl::StatusOr<double> Session::SecondsOfSteps(int repetitions) {
  return runner_->SecondsOfSteps(repetitions);
}

absl::Status Session::Run(RunListener& listener) { return runner_->Run(listener); }

}  // namespace ashlar

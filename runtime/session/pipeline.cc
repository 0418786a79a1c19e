#include "runtime/session/pipeline.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/session/arena_memory.h"

namespace ashlar {
namespace {

absl::Status CheckDeviceHolds(const PlannedGraph& planned, int in_flight, int arenas) {
  const std::optional<MemoryState> memory = planned.device->memory();
  if (!memory.has_value()) return absl::OkStatus();
  const int64_t arena_bytes = arenas * planned.plan.plan.arena;
  const int64_t tensors = in_flight * (planned.input_bytes() + planned.output_bytes());
  const int64_t needed = arena_bytes + planned.weights.bytes + planned.state.bytes + tensors;
  if (needed <= memory->total) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(planned.device->comp_node().ToString(), " has ", memory->total, " bytes, ",
                   needed, " are needed for ", in_flight, " runs in flight: ", arenas,
                   arenas == 1 ? " arena " : " arenas ", arena_bytes, ", weights ",
                   planned.weights.bytes, ", inputs and outputs ", tensors));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(
    std::shared_ptr<const Executable> executable, const PipelineOptions& options) {
  if (options.in_flight < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.in_flight, " runs in flight, expected at least 1"));
  }
  const PlannedGraph& planned = executable->planned();
  std::unique_ptr<Pipeline> pipeline(new Pipeline());
  const bool shared = options.in_flight > 1 && (!options.arena_each || planned.device->is_host());
  pipeline->arenas_ = shared ? 1 : options.in_flight;
  ASHLAR_RETURN_IF_ERROR(CheckDeviceHolds(planned, options.in_flight, pipeline->arenas_));
  SessionOptions session;
  if (shared) {
    ASHLAR_ASSIGN_OR_RETURN(session.arena, AllocateArena(planned));
  }
  for (int i = 0; i < options.in_flight; ++i) {
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> created, Session::Create(executable, session));
    session.state = created->state();
    pipeline->sessions_.push_back(std::move(created));
  }
  return pipeline;
}

Session* Pipeline::next() {
  return running_ == in_flight() ? nullptr : sessions_[(oldest_ + running_) % in_flight()].get();
}

absl::Status Pipeline::Start() {
  Session* const session = next();
  if (session == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(running_, " runs are on the way, and no more may be"));
  }
  const bool waits = arenas_ < in_flight() && last_started_ != nullptr;
  ASHLAR_RETURN_IF_ERROR(waits ? session->StartAfter(*last_started_) : session->Start());
  last_started_ = session;
  ++running_;
  return absl::OkStatus();
}

absl::Status Pipeline::Wait() {
  if (running_ == 0) return absl::FailedPreconditionError("no run is on the way");
  Session& session = *sessions_[oldest_];
  oldest_ = (oldest_ + 1) % in_flight();
  --running_;
  return session.Wait();
}

absl::Status Pipeline::recording_status() const {
  for (const std::unique_ptr<Session>& session : sessions_) {
    ASHLAR_RETURN_IF_ERROR(session->recording_status());
  }
  return absl::OkStatus();
}

int64_t Pipeline::device_bytes() const {
  int64_t bytes = arenas_ * sessions_[0]->arena().bytes() + sessions_[0]->state()->memory().bytes();
  for (const auto& session : sessions_) bytes += session->tensor_bytes();
  return bytes;
}

}  // namespace ashlar

// Sessions on devices with streams: the caller's tensors are copied to the device and back, and a
// run is handed over as one recording.
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/session/session.h"

namespace ashlar {
namespace {

// Marks before and after a step.
int MarkBefore(size_t position) { return static_cast<int>(2 * position); }
int MarkAfter(size_t position) { return static_cast<int>(2 * position + 1); }

// Of a session that shares its arena: the arena is free. (Profiling, which sets the marks above,
// has the device to itself.)
constexpr int kStepsDone = 0;

}  // namespace

absl::Status Session::PrepareStream(Device& device) {
  const Graph& graph = executable_->graph();
  const int64_t alignment = device.alignment();
  int64_t end = 0;
  const auto place = [&](Bound& bound, const Binding& binding) {
    bound.offset = end;
    bound.bytes = graph.var(binding.var).type.bytes();
    end = (end + bound.bytes + alignment - 1) / alignment * alignment;
  };
  for (size_t i = 0; i < bound_inputs_.size(); ++i) place(bound_inputs_[i], graph.inputs()[i]);
  for (size_t i = 0; i < bound_outputs_.size(); ++i) place(bound_outputs_[i], graph.outputs()[i]);
  ASHLAR_ASSIGN_OR_RETURN(tensors_, device.Allocate(end));
  ASHLAR_ASSIGN_OR_RETURN(staging_, device.AllocateStaging(end));
  ASHLAR_ASSIGN_OR_RETURN(stream_, device.NewStream());
  return shares_arena_ ? stream_->MakeMarks(kStepsDone + 1) : absl::OkStatus();
}

absl::Status Session::EnqueueStep(size_t position, RunListener* listener, bool marked) {
  Step& step = steps_[position];
  if (listener != nullptr) listener->OnStepBegin(static_cast<int>(position));
  if (marked) ASHLAR_RETURN_IF_ERROR(stream_->Mark(MarkBefore(position)));
  if (step.kernel != nullptr) ASHLAR_RETURN_IF_ERROR(step.kernel->Run(step.args, step.state.get()));
  if (marked) ASHLAR_RETURN_IF_ERROR(stream_->Mark(MarkAfter(position)));
  if (listener != nullptr) {
    if (listener->reads_memory()) ASHLAR_RETURN_IF_ERROR(stream_->Wait());
    listener->OnStepEnd(static_cast<int>(position));
  }
  return absl::OkStatus();
}

absl::Status Session::EnqueueCopiesIn() {
  char* const device = static_cast<char*>(tensors_->data());
  const char* const host = static_cast<char*>(staging_->data());
  for (const Bound& bound : bound_inputs_) {
    if (bound.host_input == nullptr) continue;
    ASHLAR_RETURN_IF_ERROR(
        stream_->CopyIn(device + bound.offset, host + bound.offset, bound.bytes));
  }
  return absl::OkStatus();
}

absl::Status Session::EnqueueCopiesOut() {
  const char* const device = static_cast<char*>(tensors_->data());
  char* const host = static_cast<char*>(staging_->data());
  for (const Bound& bound : bound_outputs_) {
    if (bound.host_output == nullptr) continue;
    ASHLAR_RETURN_IF_ERROR(
        stream_->CopyOut(host + bound.offset, device + bound.offset, bound.bytes));
  }
  return absl::OkStatus();
}

absl::Status Session::EnqueueSteps(RunListener* listener, bool marked) {
  const PlannedGraph& planned = executable_->planned();
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (absl::Status status = EnqueueStep(i, listener, marked); !status.ok()) {
      return Annotate(status, Describe(planned.graph.node(planned.schedule.order[i])));
    }
  }
  return absl::OkStatus();
}

absl::Status Session::Enqueue(RunListener* listener, bool marked) {
  ASHLAR_RETURN_IF_ERROR(EnqueueCopiesIn());
  ASHLAR_RETURN_IF_ERROR(EnqueueSteps(listener, marked));
  return EnqueueCopiesOut();
}

// Everything, or where copies are not to wait for another session's steps, the steps. For a run
// that went well step by step: if it cannot be recorded, later ones go step by step as well.
void Session::Record(Recording what) {
  const bool marked = what == Recording::kMarkedRun;
  recording_ = Recording::kNone;
  recording_status_ = stream_->BeginRecording();
  if (recording_status_.ok()) {
    absl::Status status = shares_arena_ ? EnqueueSteps(nullptr, marked) : Enqueue(nullptr, marked);
    absl::Status ended = stream_->EndRecording();  // in any case: the stream stays usable
    recording_status_ = status.ok() ? std::move(ended) : std::move(status);
  }
  if (recording_status_.ok()) recording_ = what;
}

void Session::StageInputs() {
  for (const Bound& bound : bound_inputs_) {
    if (bound.host_input == nullptr || bound.bytes == 0) continue;
    std::memcpy(static_cast<char*>(staging_->data()) + bound.offset, bound.host_input,
                static_cast<size_t>(bound.bytes));
  }
}

absl::Status Session::HandOver(Session* previous) {
  const bool recorded = recording_ == Recording::kRun;
  if (shares_arena_) {
    ASHLAR_RETURN_IF_ERROR(EnqueueCopiesIn());
    if (previous != nullptr) {
      ASHLAR_RETURN_IF_ERROR(stream_->WaitForMark(*previous->stream_, kStepsDone));
    }
    ASHLAR_RETURN_IF_ERROR(recorded ? stream_->Replay() : EnqueueSteps(nullptr));
    ASHLAR_RETURN_IF_ERROR(stream_->Mark(kStepsDone));
    ASHLAR_RETURN_IF_ERROR(EnqueueCopiesOut());
  } else {
    ASHLAR_RETURN_IF_ERROR(recorded ? stream_->Replay() : Enqueue(nullptr));
  }
  if (recorded || !record_ || !recording_status_.ok()) return absl::OkStatus();
  // The first run goes step by step, which loads what libraries load late; later ones as a
  // recording.
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  Record(Recording::kRun);
  return absl::OkStatus();
}

absl::Status Session::StartOnStream(Session* previous) {
  ASHLAR_RETURN_IF_ERROR(CheckBound());
  const PlannedGraph& planned = executable_->planned();
  planned.device->UseThreads(planned.options.threads);
  const OriginScope scope(AllocationOrigin::kOwn);
  StageInputs();
  absl::Status status = HandOver(previous);
  // Of a run that was not handed over whole, nothing goes on; the first error says why.
  if (!status.ok()) static_cast<void>(stream_->Wait());
  return status;
}

absl::Status Session::WaitOnStream() {
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  for (const Bound& bound : bound_outputs_) {
    if (bound.host_output == nullptr || bound.bytes == 0) continue;
    std::memcpy(bound.host_output, static_cast<const char*>(staging_->data()) + bound.offset,
                static_cast<size_t>(bound.bytes));
  }
  return absl::OkStatus();
}

absl::Status Session::ReportDeviceTimes(RunListener& listener) {
  std::vector<StepTime> times(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(times[i].start, stream_->SecondsBetween(0, MarkBefore(i)));
    ASHLAR_ASSIGN_OR_RETURN(times[i].end, stream_->SecondsBetween(0, MarkAfter(i)));
  }
  listener.OnDeviceTimes(times);
  return absl::OkStatus();
}

absl::Status Session::RunOnStream(RunListener& listener) {
  ASHLAR_RETURN_IF_ERROR(CheckBound());
  const PlannedGraph& planned = executable_->planned();
  planned.device->UseThreads(planned.options.threads);
  ASHLAR_RETURN_IF_ERROR(stream_->MakeMarks(static_cast<int>(2 * steps_.size())));
  StageInputs();
  const bool marked = !record_ || listener.reads_memory() || !recording_status_.ok();
  listener.OnRunBegin();
  ASHLAR_RETURN_IF_ERROR(Enqueue(&listener, marked));
  ASHLAR_RETURN_IF_ERROR(WaitOnStream());
  listener.OnRunEnd();
  if (steps_.empty()) return absl::OkStatus();
  if (!marked) ASHLAR_RETURN_IF_ERROR(ReplayMarked());
  return ReportDeviceTimes(listener);
}

// Small kernels are faster than the host hands them over: only those of a recording follow each
// other without gaps, which marks would count.
absl::Status Session::ReplayMarked() {
  if (recording_ != Recording::kMarkedRun) Record(Recording::kMarkedRun);
  ASHLAR_RETURN_IF_ERROR(recording_status_.ok() ? stream_->Replay() : Enqueue(nullptr, true));
  return WaitOnStream();
}

}  // namespace ashlar

// Runs on devices with streams: copies the caller's tensors to the device and back, and enqueues a
// run as one recording.
#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "runtime/device/allocation_origin.h"
#include "runtime/session/copy_threads.h"
#include "runtime/session/runner.h"
#include "runtime/session/steps.h"

namespace ashlar {
namespace {

// The marks before and after a step.
int MarkBefore(size_t position) { return static_cast<int>(2 * position); }
int MarkAfter(size_t position) { return static_cast<int>(2 * position + 1); }

// Marks of a run. kStepsDone: the shared arena is free. kRunDone: the run is complete; used on the
// caller's stream, to which the caller may have added more work. (Profiling, which uses the marks
// above, has the device to itself.)
constexpr int kStepsDone = 0, kRunDone = 1;

class StreamRunner final : public Runner {
 public:
  StreamRunner(const RunnerSite& site, const StreamOptions& options)
      : planned_(site.executable.planned()), binder_(site.binder), options_(options) {}
  absl::Status Prepare(const RunnerSite& site);

  absl::Status Start(Runner* previous) override;
  absl::Status Wait() override;
  absl::Status Run(RunListener& listener) override;
  absl::StatusOr<double> SecondsOfSteps(int repetitions) override;
  void OnRebound() override { recording_ = Recording::kNone; }
  Stream* stream() override { return stream_.get(); }
  int64_t tensor_bytes() const override { return tensors_->bytes(); }
  absl::Status recording_status() const override { return recording_status_; }

 private:
  bool HasLargeCopies() const;
  // Returns the address in host memory that the device copies the caller's tensor from or to.
  char* HostOf(const Binder::Tensor& tensor) const {
    return tensor.pinned ? static_cast<char*>(tensor.host)
                         : static_cast<char*>(staging_->data()) + tensor.offset;
  }
  // Returns whether the host copies a tensor between staging and the caller's memory.
  static bool IsStaged(const Binder::Tensor& tensor) {
    return tensor.host != nullptr && !tensor.pinned;
  }

  // The run that the stream has recorded for the present bindings; kMarkedRun: with marks around
  // each step.
  enum class Recording { kNone, kRun, kMarkedRun };

  void StageInputs();
  void UnstageOutputs();
  absl::Status EnqueueCopiesIn();
  absl::Status EnqueueCopiesOut();
  absl::Status EnqueueSteps(RunListener* listener, bool marked = false);
  absl::Status EnqueueStep(size_t position, RunListener* listener, bool marked);
  absl::Status Enqueue(RunListener* listener, bool marked = false);
  absl::Status HandOver(Runner* previous);
  void Record(Recording what);
  absl::Status ReplayMarked();
  absl::Status ReportDeviceTimes(RunListener& listener);

  const PlannedGraph& planned_;
  Binder& binder_;
  const StreamOptions options_;
  std::vector<Step> steps_;
  std::unique_ptr<DeviceMemory> tensors_, staging_;  // the caller's tensors, on the device and on
                                                     // the host
  std::unique_ptr<Stream> stream_;                   // declared later: destroyed before the memory
                                                     // that it uses
  std::unique_ptr<CopyThreads> copies_;              // copies between the caller's tensors and
                                                     // staging
  bool loaded_ = false;  // one run went step by step, so that libraries are fully loaded
  Recording recording_ = Recording::kNone;
  absl::Status recording_status_;  // why there is no recording
};

absl::Status StreamRunner::Prepare(const RunnerSite& site) {
  Device& device = *planned_.device;
  ASHLAR_ASSIGN_OR_RETURN(tensors_, device.Allocate(binder_.copies_bytes()));
  ASHLAR_ASSIGN_OR_RETURN(staging_, device.AllocateStaging(binder_.copies_bytes()));
  ASHLAR_ASSIGN_OR_RETURN(
      stream_, device.NewStream({options_.stream, options_.shares_arena ? site.arena : nullptr}));
  if (options_.shares_arena || options_.stream != nullptr) {
    ASHLAR_RETURN_IF_ERROR(stream_->MakeMarks(kRunDone + 1));
  }
  copies_ = std::make_unique<CopyThreads>(HasLargeCopies() ? planned_.request.target.threads : 1);
  binder_.CopyTo(tensors_->data());
  ASHLAR_ASSIGN_OR_RETURN(
      steps_, MakeSteps(site.executable, {site.arena, stream_.get(), site.state}, binder_));
  return absl::OkStatus();
}

bool StreamRunner::HasLargeCopies() const {
  const auto is_large = [](const Binder::Tensor& tensor) {
    return tensor.bytes >= CopyThreads::kLeast;
  };
  return std::any_of(binder_.inputs().begin(), binder_.inputs().end(), is_large) ||
         std::any_of(binder_.outputs().begin(), binder_.outputs().end(), is_large);
}

absl::Status StreamRunner::EnqueueStep(size_t position, RunListener* listener, bool marked) {
  if (listener != nullptr) listener->OnStepBegin(static_cast<int>(position));
  if (marked) ASHLAR_RETURN_IF_ERROR(stream_->Mark(MarkBefore(position)));
  ASHLAR_RETURN_IF_ERROR(steps_[position].Run());
  if (marked) ASHLAR_RETURN_IF_ERROR(stream_->Mark(MarkAfter(position)));
  if (listener != nullptr) {
    if (listener->reads_memory()) ASHLAR_RETURN_IF_ERROR(stream_->Wait());
    listener->OnStepEnd(static_cast<int>(position));
  }
  return absl::OkStatus();
}

absl::Status StreamRunner::EnqueueCopiesIn() {
  char* const device = static_cast<char*>(tensors_->data());
  for (const Binder::Tensor& tensor : binder_.inputs()) {
    if (tensor.host == nullptr) continue;
    ASHLAR_RETURN_IF_ERROR(stream_->CopyIn(device + tensor.offset, HostOf(tensor), tensor.bytes));
  }
  return absl::OkStatus();
}

absl::Status StreamRunner::EnqueueCopiesOut() {
  const char* const device = static_cast<char*>(tensors_->data());
  for (const Binder::Tensor& tensor : binder_.outputs()) {
    if (tensor.host == nullptr) continue;
    ASHLAR_RETURN_IF_ERROR(stream_->CopyOut(HostOf(tensor), device + tensor.offset, tensor.bytes));
  }
  return absl::OkStatus();
}

absl::Status StreamRunner::EnqueueSteps(RunListener* listener, bool marked) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (absl::Status status = EnqueueStep(i, listener, marked); !status.ok()) {
      return Annotate(status, Describe(planned_.graph.node(planned_.schedule.order[i])));
    }
  }
  return absl::OkStatus();
}

absl::Status StreamRunner::Enqueue(RunListener* listener, bool marked) {
  ASHLAR_RETURN_IF_ERROR(EnqueueCopiesIn());
  ASHLAR_RETURN_IF_ERROR(EnqueueSteps(listener, marked));
  return EnqueueCopiesOut();
}

// Records everything, or only the steps if copies must not wait for another session's steps. Called
// after a run succeeded step by step: if recording fails, later runs go step by step as well. A
// recording for other addresses is updated, which is cheaper than a new one.
void StreamRunner::Record(Recording what) {
  const bool marked = what == Recording::kMarkedRun;
  recording_ = Recording::kNone;
  recording_status_ = stream_->BeginRecording();
  if (recording_status_.ok()) {
    absl::Status status =
        options_.shares_arena ? EnqueueSteps(nullptr, marked) : Enqueue(nullptr, marked);
    absl::Status ended = stream_->EndRecording();  // always: the stream stays usable
    recording_status_ = status.ok() ? std::move(ended) : std::move(status);
  }
  if (recording_status_.ok()) recording_ = what;
}

void StreamRunner::StageInputs() {
  for (const Binder::Tensor& tensor : binder_.inputs()) {
    if (IsStaged(tensor)) copies_->Copy(HostOf(tensor), tensor.host, tensor.bytes);
  }
}

void StreamRunner::UnstageOutputs() {
  for (const Binder::Tensor& tensor : binder_.outputs()) {
    if (IsStaged(tensor)) copies_->Copy(tensor.host, HostOf(tensor), tensor.bytes);
  }
}

absl::Status StreamRunner::HandOver(Runner* previous) {
  const bool records = options_.record && recording_status_.ok();
  if (records && loaded_ && recording_ != Recording::kRun) Record(Recording::kRun);
  const bool recorded = recording_ == Recording::kRun;
  if (options_.shares_arena) {
    ASHLAR_RETURN_IF_ERROR(EnqueueCopiesIn());
    if (previous != nullptr) {
      ASHLAR_RETURN_IF_ERROR(stream_->WaitForMark(*previous->stream(), kStepsDone));
    }
    ASHLAR_RETURN_IF_ERROR(recorded ? stream_->Replay() : EnqueueSteps(nullptr));
    ASHLAR_RETURN_IF_ERROR(stream_->Mark(kStepsDone));
    ASHLAR_RETURN_IF_ERROR(EnqueueCopiesOut());
  } else {
    ASHLAR_RETURN_IF_ERROR(recorded ? stream_->Replay() : Enqueue(nullptr));
  }
  if (options_.stream != nullptr) ASHLAR_RETURN_IF_ERROR(stream_->Mark(kRunDone));
  if (recorded || !records || loaded_) return absl::OkStatus();
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  loaded_ = true;
  Record(Recording::kRun);
  return absl::OkStatus();
}

absl::Status StreamRunner::Start(Runner* previous) {
  ASHLAR_RETURN_IF_ERROR(binder_.CheckBound());
  planned_.device->UseThreads(planned_.request.target.threads);
  const OriginScope scope(AllocationOrigin::kOwn);
  StageInputs();
  absl::Status status = HandOver(previous);
  // After a partial failure, waits until nothing runs. Returns the first error, which has the
  // reason.
  if (!status.ok()) static_cast<void>(stream_->Wait());
  return status;
}

absl::Status StreamRunner::Wait() {
  ASHLAR_RETURN_IF_ERROR(options_.stream == nullptr ? stream_->Wait()
                                                    : stream_->WaitUntilPassed(kRunDone));
  UnstageOutputs();
  return absl::OkStatus();
}

absl::Status StreamRunner::ReportDeviceTimes(RunListener& listener) {
  std::vector<StepTime> times(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(times[i].start, stream_->SecondsBetween(0, MarkBefore(i)));
    ASHLAR_ASSIGN_OR_RETURN(times[i].end, stream_->SecondsBetween(0, MarkAfter(i)));
  }
  listener.OnDeviceTimes(times);
  return absl::OkStatus();
}

absl::Status StreamRunner::Run(RunListener& listener) {
  ASHLAR_RETURN_IF_ERROR(binder_.CheckBound());
  planned_.device->UseThreads(planned_.request.target.threads);
  ASHLAR_RETURN_IF_ERROR(stream_->MakeMarks(static_cast<int>(2 * steps_.size())));
  StageInputs();
  const bool marked = !options_.record || listener.reads_memory() || !recording_status_.ok();
  listener.OnRunBegin();
  ASHLAR_RETURN_IF_ERROR(Enqueue(&listener, marked));
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  UnstageOutputs();
  listener.OnRunEnd();
  if (steps_.empty()) return absl::OkStatus();
  if (!marked) ASHLAR_RETURN_IF_ERROR(ReplayMarked());
  return ReportDeviceTimes(listener);
}

// Replays a recording with marks. Small kernels are faster than the host can enqueue them. Only in
// a recording do they follow each other without gaps, which the marks would include.
absl::Status StreamRunner::ReplayMarked() {
  if (recording_ != Recording::kMarkedRun) Record(Recording::kMarkedRun);
  ASHLAR_RETURN_IF_ERROR(recording_status_.ok() ? stream_->Replay() : Enqueue(nullptr, true));
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  UnstageOutputs();
  return absl::OkStatus();
}

// Times many replays together, because a kernel of microseconds is shorter than the clock's error.
absl::StatusOr<double> StreamRunner::SecondsOfSteps(int repetitions) {
  ASHLAR_RETURN_IF_ERROR(Start(nullptr));  // now the inputs are in place and libraries are loaded
  ASHLAR_RETURN_IF_ERROR(Wait());
  ASHLAR_RETURN_IF_ERROR(stream_->MakeMarks(2));
  recording_ = Recording::kNone;
  ASHLAR_RETURN_IF_ERROR(stream_->BeginRecording());
  const absl::Status recorded = EnqueueSteps(nullptr);
  ASHLAR_RETURN_IF_ERROR(stream_->EndRecording());  // always: the stream stays usable
  ASHLAR_RETURN_IF_ERROR(recorded);
  ASHLAR_RETURN_IF_ERROR(stream_->Mark(0));
  for (int i = 0; i < repetitions; ++i) ASHLAR_RETURN_IF_ERROR(stream_->Replay());
  ASHLAR_RETURN_IF_ERROR(stream_->Mark(1));
  ASHLAR_RETURN_IF_ERROR(stream_->Wait());
  ASHLAR_ASSIGN_OR_RETURN(const double seconds, stream_->SecondsBetween(0, 1));
  return seconds / repetitions;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Runner>> MakeStreamRunner(const RunnerSite& site,
                                                         const StreamOptions& options) {
  auto runner = std::make_unique<StreamRunner>(site, options);
  ASHLAR_RETURN_IF_ERROR(runner->Prepare(site));
  return runner;
}

}  // namespace ashlar

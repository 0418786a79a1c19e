#include "runtime/session/streamed_weights.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "graph/status.h"
#include "runtime/device/changed_bytes.h"

namespace ashlar {
namespace {

// Returns by read the step after which threads that sleep are woken for it: when the window has
// room for reads of half its shared bytes. Waking a thread takes longer than copying a small
// weight, and the other half holds weights to compute with meanwhile.
std::vector<int> WakingSteps(const PlannedGraph& planned) {
  const WeightWindow& window = *planned.weights.window;
  const int64_t half = (window.bytes - window.resident_bytes) / 2;
  std::vector<int> steps;
  size_t end = 0;  // the reads before it are woken for together
  int64_t bytes = 0;
  for (size_t i = 0; i < window.reads.size(); ++i) {
    for (; end < window.reads.size() && bytes < half; ++end) {
      bytes += planned.weights.entries[window.reads[end].weight].bytes;
    }
    int step = -1;
    for (size_t k = i; k < end; ++k) step = std::max(step, window.reads[k].after);
    steps.push_back(step);
    bytes -= planned.weights.entries[window.reads[i].weight].bytes;
  }
  return steps;
}

}  // namespace

StreamedWeights::StreamedWeights(const PlannedGraph& planned,
                                 std::shared_ptr<const WeightSource> source)
    : planned_(planned),
      window_(*planned.weights.window),
      source_(std::move(source)),
      wake_after_(WakingSteps(planned)),
      stamp_(source_->opened()),
      complete_(window_.reads.size(), 0) {}

StreamedWeights::~StreamedWeights() {
  if (!threads_.empty() && process_ != getpid()) {
    for (std::thread& thread : threads_) thread.detach();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  to_readers_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  delete &to_readers_;
  delete &to_run_;
}

absl::Status StreamedWeights::Written() const {
  return absl::DataLossError(absl::StrCat(
      source_->name(), ": was written to while weights were read from it; what they gave is void"));
}

absl::Status StreamedWeights::Open(int64_t slack) {
  const std::lock_guard<std::mutex> run(run_);
  if (process_ != 0) return absl::OkStatus();
  if (memory_ == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(memory_, planned_.device->Allocate(window_.bytes + slack));
  }
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp before, source_->CurrentStamp());
  if (before != stamp_) ASHLAR_RETURN_IF_ERROR(source_->Verify());
  stamp_ = before;
  ASHLAR_RETURN_IF_ERROR(ReadResident());
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp after, source_->CurrentStamp());
  if (after != stamp_) return Written();
  const int count = std::min(kReadsInFlight, static_cast<int>(window_.reads.size()));
  try {
    while (static_cast<int>(threads_.size()) < count) {
      threads_.emplace_back([this] { ReadAhead(); });
    }
  } catch (const std::system_error& error) {
    if (threads_.empty()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no thread can be started to read weights: ", error.what()));
    }
  }
  process_ = getpid();
  return absl::OkStatus();
}

absl::Status StreamedWeights::ReadResident() {
  for (const int weight : window_.resident) {
    const WeightEntry& entry = planned_.weights.entries[weight];
    ASHLAR_RETURN_IF_ERROR(
        source_->Read(entry.offset, entry.bytes,
                      static_cast<char*>(memory_->data()) + planned_.weights.offset(weight)));
  }
  return absl::OkStatus();
}

// Whether the next read has room. Called with the lock.
bool StreamedWeights::MayRead() const {
  return failed_.ok() && next_ < static_cast<int>(window_.reads.size()) &&
         window_.reads[next_].after < done_;
}

// Wakes a thread that waits, if it can read. Called with the lock.
void StreamedWeights::WakeReader() {
  if (idle_ > 0 && MayRead()) to_readers_.notify_one();
}

absl::Status StreamedWeights::Read(int weight) {
  const WeightEntry& entry = planned_.weights.entries[weight];
  char* const to = static_cast<char*>(memory_->data()) + planned_.weights.offset(weight);
  const int64_t cached = source_->ReadCached(entry.offset, entry.bytes, to);
  if (cached == entry.bytes) return absl::OkStatus();
  {
    const Lock lock(mutex_);
    ++from_disk_;
    WakeReader();  // for the next read
  }
  absl::Status status = source_->Read(entry.offset + cached, entry.bytes - cached, to + cached);
  const Lock lock(mutex_);
  --from_disk_;
  return status;
}

// Reads what MayRead has allowed; leaves the lock meanwhile.
void StreamedWeights::TakeRead(Lock& lock) {
  const int index = next_++;
  ++in_flight_;
  lock.unlock();
  absl::Status status = Read(window_.reads[index].weight);
  lock.lock();
  --in_flight_;
  if (status.ok()) {
    complete_[index] = 1;
    int read = read_;
    while (read < static_cast<int>(complete_.size()) && complete_[read] != 0) ++read;
    read_ = read;
  } else if (failed_.ok()) {
    failed_ = std::move(status);
  }
  if (run_waits_) to_run_.notify_one();
}

void StreamedWeights::ReadAhead() {
  Lock lock(mutex_);
  while (!stop_) {
    if (MayRead()) {
      TakeRead(lock);
      continue;
    }
    ++idle_;
    to_readers_.wait(lock, [&] { return stop_ || MayRead(); });
    --idle_;
  }
}

// Waits until no read is in flight. New ones begin only without the lock.
void StreamedWeights::WaitForReaders(Lock& lock) {
  run_waits_ = true;
  to_run_.wait(lock, [&] { return in_flight_ == 0; });
  run_waits_ = false;
}

// Makes the threads read from the first weight on.
void StreamedWeights::Restart(Lock& lock) {
  WaitForReaders(lock);
  std::fill(complete_.begin(), complete_.end(), 0);
  next_ = read_ = done_ = 0;
  failed_ = absl::OkStatus();
  WakeReader();
}

// If the file was written to, its bytes are compared with the ones that were packed: weights of two
// models must not meet in the window.
absl::Status StreamedWeights::Begin() {
  if (process_ != getpid()) {
    return absl::FailedPreconditionError(
        "weights are streamed by a thread of another process, of which this one is a fork: open "
        "the model here");
  }
  std::unique_lock<std::mutex> run(run_);
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp now, source_->CurrentStamp());
  if (now != stamp_) ASHLAR_RETURN_IF_ERROR(source_->Verify());
  Lock lock(mutex_);
  if (now != stamp_ || !failed_.ok()) Restart(lock);
  stamp_ = now;
  run.release();  // until End
  return absl::OkStatus();
}

absl::Status StreamedWeights::WaitFor(int step) {
  const int needed = window_.needed[step];
  if (read_ >= needed) return absl::OkStatus();
  Lock lock(mutex_);
  while (read_ < needed && failed_.ok()) {
    if (next_ < needed && MayRead()) {
      TakeRead(lock);
      continue;
    }
    run_waits_ = true;
    to_run_.wait(lock);
    run_waits_ = false;
  }
  return read_ >= needed ? absl::OkStatus() : failed_;
}

void StreamedWeights::Done(int step) {
  const Lock lock(mutex_);
  done_ = step + 1;
  if (idle_ == 0 || !MayRead()) return;
  const bool all_sleep = idle_ == static_cast<int>(threads_.size());
  if (from_disk_ > 0 || (all_sleep && wake_after_[next_] <= step)) to_readers_.notify_one();
}

absl::Status StreamedWeights::End() {
  const std::unique_lock<std::mutex> run(run_, std::adopt_lock);
  {
    Lock lock(mutex_);
    Restart(lock);
  }
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp now, source_->CurrentStamp());
  return now == stamp_ ? absl::OkStatus() : Written();
}

absl::Status StreamedWeights::Fill(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(run_);
  Lock lock(mutex_);
  WaitForReaders(lock);
  ASHLAR_RETURN_IF_ERROR(planned_.device->Fill(memory_->data(), pattern, memory_->bytes()));
  ASHLAR_RETURN_IF_ERROR(ReadResident());
  Restart(lock);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> StreamedWeights::Highest(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(run_);
  Lock lock(mutex_);
  WaitForReaders(lock);
  return HighestChangedOn(*planned_.device, memory_->data(), memory_->bytes(), pattern);
}

}  // namespace ashlar

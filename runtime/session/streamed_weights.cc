#include "runtime/session/streamed_weights.h"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "graph/status.h"
#include "runtime/device/changed_bytes.h"

namespace ashlar {

StreamedWeights::~StreamedWeights() {
  if (thread_.joinable() && process_ != getpid()) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  delete &changed_;
}

absl::Status StreamedWeights::Written() const {
  return absl::DataLossError(absl::StrCat(
      source_->name(), ": was written to while weights were read from it; what they gave is void"));
}

absl::Status StreamedWeights::Open(int64_t slack) {
  const std::lock_guard<std::mutex> run(run_);
  if (thread_.joinable()) return absl::OkStatus();
  const WeightWindow& window = *planned_.weights.window;
  if (memory_ == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(memory_, planned_.device->Allocate(window.bytes + slack));
  }
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp before, source_->CurrentStamp());
  if (before != stamp_) ASHLAR_RETURN_IF_ERROR(source_->Verify());
  stamp_ = before;
  ASHLAR_RETURN_IF_ERROR(ReadResident());
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp after, source_->CurrentStamp());
  if (after != stamp_) return Written();
  process_ = getpid();
  try {
    thread_ = std::thread([this] { ReadAhead(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread can be started to read weights: ", error.what()));
  }
  return absl::OkStatus();
}

absl::Status StreamedWeights::Read(int weight) {
  const WeightEntry& entry = planned_.weights.entries[weight];
  char* const to = static_cast<char*>(memory_->data()) + planned_.weights.offset(weight);
  return source_->Read(entry.offset, entry.bytes, to);
}

absl::Status StreamedWeights::ReadResident() {
  for (const int weight : planned_.weights.window->resident) {
    ASHLAR_RETURN_IF_ERROR(Read(weight));
  }
  return absl::OkStatus();
}

void StreamedWeights::ReadAhead() {
  const std::vector<WeightWindow::Read>& reads = planned_.weights.window->reads;
  const auto may_read = [&] {
    return failed_.ok() && read_ < static_cast<int>(reads.size()) && reads[read_].after < done_;
  };
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || may_read(); });
    if (stop_) return;
    const int weight = reads[read_].weight;
    reading_ = true;
    lock.unlock();
    absl::Status status = Read(weight);
    lock.lock();
    reading_ = false;
    read_ += status.ok();
    failed_ = std::move(status);
    changed_.notify_all();
  }
}

// Makes the thread read from the first weight on.
void StreamedWeights::Restart(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return !reading_; });
  read_ = done_ = 0;
  failed_ = absl::OkStatus();
  changed_.notify_all();
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
  std::unique_lock<std::mutex> lock(mutex_);
  if (now != stamp_ || !failed_.ok()) Restart(lock);
  stamp_ = now;
  run.release();  // until End
  return absl::OkStatus();
}

absl::Status StreamedWeights::WaitFor(int step) {
  const int needed = planned_.weights.window->needed[step];
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return read_ >= needed || !failed_.ok(); });
  return read_ >= needed ? absl::OkStatus() : failed_;
}

void StreamedWeights::Done(int step) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = step + 1;
  }
  changed_.notify_all();
}

absl::Status StreamedWeights::End() {
  const std::unique_lock<std::mutex> run(run_, std::adopt_lock);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    Restart(lock);
  }
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp now, source_->CurrentStamp());
  return now == stamp_ ? absl::OkStatus() : Written();
}

absl::Status StreamedWeights::Fill(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(run_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !reading_; });
  ASHLAR_RETURN_IF_ERROR(planned_.device->Fill(memory_->data(), pattern, memory_->bytes()));
  ASHLAR_RETURN_IF_ERROR(ReadResident());
  Restart(lock);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> StreamedWeights::Highest(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(run_);
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !reading_; });
  return HighestChangedOn(*planned_.device, memory_->data(), memory_->bytes(), pattern);
}

}  // namespace ashlar

#include "runtime/session/streamed_weights.h"

#include <algorithm>
#include <utility>

#include "graph/file_mapping.h"
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
      shared_(std::make_shared<SharedWindow>(*planned.device)),
      wake_after_(WakingSteps(planned)),
      stamp_(source_->opened()),
      complete_(window_.reads.size(), 0) {
  shared_->Reserve(window_.bytes).IgnoreError();  // it is not in memory yet
}

StreamedWeights::~StreamedWeights() {
  if (shared_->IsOfAnotherProcess()) return;
  const std::lock_guard<std::mutex> run(shared_->run());
  Lock lock(shared_->mutex());
  if (shared_->IsUsedBy(this)) shared_->Leave(lock);
}

absl::Status StreamedWeights::ShareWindowOf(const StreamedWeights& other) {
  if (&shared_->device() != &other.shared_->device()) {
    return absl::InvalidArgumentError(
        absl::StrCat("share: that window is on ", other.shared_->device().comp_node().ToString(),
                     ", this plan on ", shared_->device().comp_node().ToString()));
  }
  ASHLAR_RETURN_IF_ERROR(other.shared_->Reserve(window_.bytes));
  shared_ = other.shared_;
  return absl::OkStatus();
}

absl::Status StreamedWeights::Written() const {
  return DamagedFile(absl::DataLossError(
      absl::StrCat(source_->name(),
                   ": was written to while weights were read from it; what they gave is void")));
}

absl::Status StreamedWeights::Open(int64_t slack) {
  const std::lock_guard<std::mutex> run(shared_->run());
  if (opened_) return absl::OkStatus();
  ASHLAR_RETURN_IF_ERROR(shared_->Allocate(slack));
  ASHLAR_RETURN_IF_ERROR(TakeOver());
  ASHLAR_RETURN_IF_ERROR(
      shared_->StartThreads(std::min(kReadsInFlight, static_cast<int>(window_.reads.size()))));
  opened_ = true;
  return absl::OkStatus();
}

// Makes the window this plan's, as before its first run; after an error it is nobody's. If the file
// was written to, its bytes are compared with the ones that were packed: weights of two models must
// not meet in the window. Runs do not look at the file again if all weights stay in the window.
absl::Status StreamedWeights::TakeOver() {
  {
    Lock lock(shared_->mutex());
    shared_->Leave(lock);
  }
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp before, source_->CurrentStamp());
  if (before != stamp_) ASHLAR_RETURN_IF_ERROR(source_->Verify());
  stamp_ = before;
  ASHLAR_RETURN_IF_ERROR(ReadResident());
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp after, source_->CurrentStamp());
  if (after != stamp_) return Written();
  Lock lock(shared_->mutex());
  shared_->Use(this);
  Restart(lock);
  return absl::OkStatus();
}

absl::Status StreamedWeights::ReadResident() {
  for (const int weight : window_.resident) {
    const WeightEntry& entry = planned_.weights.entries[weight];
    ASHLAR_RETURN_IF_ERROR(
        source_->Read(entry.offset, entry.bytes,
                      static_cast<char*>(memory()->data()) + planned_.weights.offset(weight)));
  }
  return absl::OkStatus();
}

bool StreamedWeights::MayRead() const {
  return failed_.ok() && next_ < static_cast<int>(window_.reads.size()) &&
         window_.reads[next_].after < done_;
}

absl::Status StreamedWeights::Read(int weight) {
  const WeightEntry& entry = planned_.weights.entries[weight];
  char* const to = static_cast<char*>(memory()->data()) + planned_.weights.offset(weight);
  const int64_t cached = source_->ReadCached(entry.offset, entry.bytes, to);
  if (cached == entry.bytes) return absl::OkStatus();
  {
    const Lock lock(shared_->mutex());
    ++shared_->from_disk;
    shared_->WakeReader();  // for the next read
  }
  absl::Status status = source_->Read(entry.offset + cached, entry.bytes - cached, to + cached);
  const Lock lock(shared_->mutex());
  --shared_->from_disk;
  return status;
}

void StreamedWeights::TakeRead(Lock& lock) {
  const int index = next_++;
  ++shared_->in_flight;
  lock.unlock();
  absl::Status status = Read(window_.reads[index].weight);
  lock.lock();
  --shared_->in_flight;
  if (status.ok()) {
    complete_[index] = 1;
    int read = read_;
    while (read < static_cast<int>(complete_.size()) && complete_[read] != 0) ++read;
    read_ = read;
  } else if (failed_.ok()) {
    failed_ = std::move(status);
  }
  shared_->WakeRun();
}

// Makes the threads read from the first weight on.
void StreamedWeights::Restart(Lock& lock) {
  shared_->WaitForReaders(lock);
  std::fill(complete_.begin(), complete_.end(), 0);
  next_ = read_ = done_ = 0;
  failed_ = absl::OkStatus();
  shared_->WakeReader();
}

absl::Status StreamedWeights::Begin() {
  if (shared_->IsOfAnotherProcess()) {
    return absl::UnavailableError(
        "weights are streamed by a thread of another process, of which this one is a fork: open "
        "the model here");
  }
  std::unique_lock<std::mutex> run(shared_->run());
  if (!shared_->IsUsedBy(this)) {
    ASHLAR_RETURN_IF_ERROR(TakeOver());
  } else if (!window_.reads.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp now, source_->CurrentStamp());
    if (now != stamp_) {
      ASHLAR_RETURN_IF_ERROR(TakeOver());
    } else if (Lock lock(shared_->mutex()); !failed_.ok()) {
      Restart(lock);
    }
  }
  run.release();  // until End
  return absl::OkStatus();
}

absl::Status StreamedWeights::WaitFor(int step) {
  const int needed = window_.needed[step];
  if (read_ >= needed) return absl::OkStatus();
  Lock lock(shared_->mutex());
  while (read_ < needed && failed_.ok()) {
    if (next_ < needed && MayRead()) {
      TakeRead(lock);
      continue;
    }
    shared_->WaitForARead(lock);
  }
  return read_ >= needed ? absl::OkStatus() : failed_;
}

void StreamedWeights::Done(int step) {
  const Lock lock(shared_->mutex());
  done_ = step + 1;
  if (!MayRead()) return;
  if (shared_->from_disk > 0 || (shared_->all_sleep() && wake_after_[next_] <= step)) {
    shared_->WakeReader();
  }
}

absl::Status StreamedWeights::End() {
  const std::unique_lock<std::mutex> run(shared_->run(), std::adopt_lock);
  {
    Lock lock(shared_->mutex());
    Restart(lock);
  }
  if (window_.reads.empty()) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const WeightSource::Stamp now, source_->CurrentStamp());
  return now == stamp_ ? absl::OkStatus() : Written();
}

absl::Status StreamedWeights::Fill(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(shared_->run());
  {
    Lock lock(shared_->mutex());
    shared_->Leave(lock);
  }
  ASHLAR_RETURN_IF_ERROR(planned_.device->Fill(memory()->data(), pattern, memory()->bytes()));
  return TakeOver();
}

absl::StatusOr<int64_t> StreamedWeights::Highest(uint8_t pattern) {
  const std::lock_guard<std::mutex> run(shared_->run());
  Lock lock(shared_->mutex());
  shared_->WaitForReaders(lock);
  return HighestChangedOn(*planned_.device, memory()->data(), memory()->bytes(), pattern);
}

}  // namespace ashlar

#include "tests/runtime/cuda/emulated_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "runtime/device/allocation_origin.h"
#include "tests/runtime/cuda/emulation/grid.h"

namespace ashlar::testing {

EmulatedStream::EmulatedStream(EmulatedStreams& all) : all_(all) { all_.streams.push_back(this); }

EmulatedStream::~EmulatedStream() { std::erase(all_.streams, this); }

absl::Status EmulatedStream::Fault(absl::string_view call) const {
  return all_.fault ? all_.fault(call) : absl::OkStatus();
}

absl::Status EmulatedStream::CopyIn(void* device, const void* staging, int64_t bytes) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_RETURN_IF_ERROR(Fault("CopyIn"));
  all_.copies_in += !recording_;
  Enqueue([=] { std::memcpy(device, staging, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

absl::Status EmulatedStream::CopyOut(void* staging, const void* device, int64_t bytes) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_RETURN_IF_ERROR(Fault("CopyOut"));
  Enqueue([=] { std::memcpy(staging, device, static_cast<size_t>(bytes)); });
  return absl::OkStatus();
}

bool EmulatedStream::blocked() const {
  const Piece& piece = pending_[next_];
  return piece.other != nullptr && piece.other->done_ < piece.others_done;
}

void EmulatedStream::Advance() {
  if (blocked()) return pending_[next_].other->Advance();
  pending_[next_].work();
  ++next_;
  ++done_;
}

int EmulatedStream::WorkAlone() {
  const int before = done_;
  while (!idle() && !blocked()) Advance();
  return done_ - before;
}

absl::Status EmulatedStream::Wait() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  if (recording_)
    return absl::FailedPreconditionError("a stream that records cannot be waited for");
  while (!idle()) {
    EmulatedStream* stream = this;
    if (all_.interleaving) {
      stream = all_.streams[(*all_.interleaving)() % all_.streams.size()];
    }
    if (!stream->idle()) stream->Advance();
  }
  pending_.clear();
  next_ = 0;
  return Fault("Wait");
}

absl::Status EmulatedStream::BeginRecording() {
  recording_ = true;
  recorded_.clear();
  return absl::OkStatus();
}

absl::Status EmulatedStream::EndRecording() {
  recording_ = false;
  return Fault("EndRecording");
}

absl::Status EmulatedStream::Replay() {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_RETURN_IF_ERROR(Fault("Replay"));
  pending_.insert(pending_.end(), recorded_.begin(), recorded_.end());
  ++all_.replays;
  return absl::OkStatus();
}

absl::Status EmulatedStream::MakeMarks(int count) {
  marks_.resize(static_cast<size_t>(count));
  return absl::OkStatus();
}

absl::Status EmulatedStream::Mark(int index) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  ASHLAR_RETURN_IF_ERROR(Fault("Mark"));
  Enqueue([this, index] { marks_[static_cast<size_t>(index)].passed_at = done_; });
  marks_[static_cast<size_t>(index)].handed_over =
      done_ + static_cast<int>(pending_.size() - next_);
  return absl::OkStatus();
}

// Each piece of work takes a second.
absl::StatusOr<double> EmulatedStream::SecondsBetween(int first, int second) {
  return marks_[static_cast<size_t>(second)].passed_at -
         marks_[static_cast<size_t>(first)].passed_at;
}

absl::Status EmulatedStream::WaitForMark(Stream& other, int index) {
  const OriginScope scope(AllocationOrigin::kLibrary);
  auto& stream = static_cast<EmulatedStream&>(other);
  Enqueue(Piece{[] {}, &stream, stream.marks_[static_cast<size_t>(index)].handed_over});
  return absl::OkStatus();
}

void EnqueueOn(void* stream, std::function<void()> work) {
  static_cast<EmulatedStream*>(stream)->Enqueue(std::move(work));
}

}  // namespace ashlar::testing

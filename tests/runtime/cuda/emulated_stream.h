// A stream of the emulated device. Its work is done when the stream, or a stream that depends on
// it, is waited for.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_STREAM_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_STREAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/launched_kernel.h"

namespace ashlar::testing {

class EmulatedStream;

// The streams of a device, with the counts and faults that tests ask for.
struct EmulatedStreams {
  // The number of replayed recordings, and of copies to the device enqueued outside of them.
  int64_t replays = 0;
  int64_t copies_in = 0;
  // The streams. If `interleaving` is set, waiting for one runs work of all, in random turns;
  // otherwise the stream works alone.
  std::vector<EmulatedStream*> streams;
  std::optional<std::mt19937_64> interleaving;
  // Called by a stream's CopyIn, CopyOut, Replay, Mark, EndRecording and Wait; returns their error.
  // Null: no error.
  std::function<absl::Status(absl::string_view call)> fault;
};

class EmulatedStream final : public cuda::CudaStream {
 public:
  explicit EmulatedStream(EmulatedStreams& all);
  ~EmulatedStream() override;
  EmulatedStream(const EmulatedStream&) = delete;
  EmulatedStream& operator=(const EmulatedStream&) = delete;

  using Work = std::function<void()>;
  void Enqueue(Work work) { Enqueue(Piece{std::move(work)}); }

  // Returns whether all enqueued work is done.
  bool idle() const { return next_ == pending_.size(); }
  // Does the work that does not have to wait for other streams; returns the number of pieces.
  int WorkAlone();

  void* handle() const override { return const_cast<EmulatedStream*>(this); }
  absl::Status CopyIn(void* device, const void* staging, int64_t bytes) override;
  absl::Status CopyOut(void* staging, const void* device, int64_t bytes) override;
  absl::Status Wait() override;
  absl::Status BeginRecording() override;
  absl::Status EndRecording() override;
  absl::Status Replay() override;
  absl::Status MakeMarks(int count) override;
  absl::Status Mark(int index) override;
  absl::StatusOr<double> SecondsBetween(int first, int second) override;
  absl::Status WaitForMark(Stream& other, int index) override;
  absl::Status WaitUntilPassed(int) override { return Wait(); }

 private:
  struct Piece {
    Work work;
    // The piece waits until this many pieces of another stream are done.
    EmulatedStream* other = nullptr;
    int others_done = 0;
  };
  void Enqueue(Piece piece) { (recording_ ? recorded_ : pending_).push_back(std::move(piece)); }
  absl::Status Fault(absl::string_view call) const;
  bool blocked() const;
  // Does one piece: the next one, or a piece for which it waits.
  void Advance();

  EmulatedStreams& all_;
  bool recording_ = false;
  std::vector<Piece> pending_, recorded_;
  size_t next_ = 0;  // index in pending_
  int done_ = 0;     // pieces
  struct MarkState {
    int handed_over = 0;  // pieces up to the mark
    int passed_at = 0;    // pieces that were done by then
  };
  std::vector<MarkState> marks_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATED_STREAM_H_

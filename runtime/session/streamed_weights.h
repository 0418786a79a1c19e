// Weights of a plan that are read into a window ahead of the steps.
//
// Reads are taken in the order of the plan, each as soon as the window has room for it. One thread
// copies weights that the system has cached. If a read must wait for the disk, the next thread
// takes the next read, so that several are in flight. A step whose weights nobody has begun to read
// reads them itself instead of waiting for a thread to wake up.
//
// All sessions of an executable share the window, and executables can: a run has it alone, others
// wait. After a run the threads read the first weights of its next one. A run of another executable
// takes the window over, and reads its resident weights again.
#ifndef ASHLAR_RUNTIME_SESSION_STREAMED_WEIGHTS_H_
#define ASHLAR_RUNTIME_SESSION_STREAMED_WEIGHTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan/record/weight_source.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/session/shared_window.h"

namespace ashlar {

class StreamedWeights final : private SharedWindow::User {
 public:
  // `planned` has a window, and must outlive this object.
  StreamedWeights(const PlannedGraph& planned, std::shared_ptr<const WeightSource> source);
  ~StreamedWeights();

  // Uses the window of `other` instead of one of its own. Call it before the first Open.
  // InvalidArgument if that is on another device, or already in memory and too small.
  absl::Status ShareWindowOf(const StreamedWeights& other);
  // Bytes of the window, of all that share it.
  int64_t window_bytes() const { return shared_->reserved(); }

  // Allocates the window, with `slack` bytes after it, reads the resident weights, and starts the
  // threads. Only the first successful call has an effect.
  absl::Status Open(int64_t slack = 0);
  // Null until it is open.
  const DeviceMemory* memory() const { return shared_->memory(); }

  // A run: Begin, then for each step WaitFor before and Done after it, and End, except after an
  // error of Begin. After an error the next run reads anew. A fork of the process cannot run.
  absl::Status Begin();
  absl::Status WaitFor(int step);
  void Done(int step);
  absl::Status End();

  // Measure the window, between runs. Fill: everything with a pattern, then all weights are read
  // again. Highest: the last byte that is not the pattern, plus one.
  absl::Status Fill(uint8_t pattern);
  absl::StatusOr<int64_t> Highest(uint8_t pattern);

 private:
  using Lock = SharedWindow::Lock;

  bool MayRead() const override;
  void TakeRead(Lock& lock) override;
  absl::Status TakeOver();
  absl::Status ReadResident();
  absl::Status Read(int weight);
  void Restart(Lock& lock);
  absl::Status Written() const;

  const PlannedGraph& planned_;
  const WeightWindow& window_;
  const std::shared_ptr<const WeightSource> source_;
  std::shared_ptr<SharedWindow> shared_;
  const std::vector<int> wake_after_;  // by read

  // For the run that has the window:
  bool opened_ = false;
  WeightSource::Stamp stamp_;  // of the bytes that are read

  // Under the lock of the window:
  int next_ = 0;                // the next read that nobody has taken
  std::vector<char> complete_;  // by read
  std::atomic<int> read_ = 0;   // how many reads from the first one on are complete
  std::atomic<int> done_ = 0;   // complete steps
  absl::Status failed_;         // of a read
};

// A run's use of streamed weights, or of weights in memory (null), which need no waiting.
class WeightsInRun {
 public:
  explicit WeightsInRun(StreamedWeights* streamed) : streamed_(streamed) {}
  ~WeightsInRun() { End().IgnoreError(); }
  WeightsInRun(const WeightsInRun&) = delete;
  WeightsInRun& operator=(const WeightsInRun&) = delete;

  absl::Status Begin() {
    if (streamed_ == nullptr) return absl::OkStatus();
    absl::Status status = streamed_->Begin();
    if (!status.ok()) streamed_ = nullptr;
    return status;
  }
  absl::Status WaitFor(int step) {
    return streamed_ == nullptr ? absl::OkStatus() : streamed_->WaitFor(step);
  }
  void Done(int step) {
    if (streamed_ != nullptr) streamed_->Done(step);
  }
  absl::Status End() {
    StreamedWeights* const streamed = std::exchange(streamed_, nullptr);
    return streamed == nullptr ? absl::OkStatus() : streamed->End();
  }

 private:
  StreamedWeights* streamed_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_STREAMED_WEIGHTS_H_

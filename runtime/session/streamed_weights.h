// The window of streamed weights in memory, and the thread that fills it ahead of the steps.
//
// All sessions of an executable share the window: a run has it alone, others wait. After a run the
// thread reads the first weights of the next one.
#ifndef ASHLAR_RUNTIME_SESSION_STREAMED_WEIGHTS_H_
#define ASHLAR_RUNTIME_SESSION_STREAMED_WEIGHTS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/plan/record/weight_source.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

class StreamedWeights {
 public:
  // `planned` has a window, and must outlive this object.
  StreamedWeights(const PlannedGraph& planned, std::shared_ptr<const WeightSource> source)
      : planned_(planned), source_(std::move(source)), stamp_(source_->opened()) {}
  ~StreamedWeights();

  // Allocates the window, with `slack` bytes after it, reads the resident weights, and starts the
  // thread. Only the first successful call has an effect.
  absl::Status Open(int64_t slack = 0);
  // Null until it is open.
  const DeviceMemory* memory() const { return memory_.get(); }

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
  absl::Status Read(int weight);
  absl::Status ReadResident();
  void ReadAhead();
  void Restart(std::unique_lock<std::mutex>& lock);
  absl::Status Written() const;

  const PlannedGraph& planned_;
  const std::shared_ptr<const WeightSource> source_;
  std::unique_ptr<DeviceMemory> memory_;

  pid_t process_ = 0;          // that has the thread: a fork of it has none
  std::mutex run_;             // held by the run that has the window, and to open it
  WeightSource::Stamp stamp_;  // of the bytes that are read

  std::mutex mutex_;  // of the members below
  // Owned. Deleted only where the thread is: it cannot be while a thread waits, as lost ones do.
  std::condition_variable& changed_ = *new std::condition_variable;
  int read_ = 0;          // complete reads
  int done_ = 0;          // complete steps
  bool reading_ = false;  // the thread writes into the window
  bool stop_ = false;
  absl::Status failed_;  // the read after the complete ones
  std::thread thread_;
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

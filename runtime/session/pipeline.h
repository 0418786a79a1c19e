// Several runs of one executable in flight at once: the device computes one while the host copies
// the tensors of others.
#ifndef ASHLAR_RUNTIME_SESSION_PIPELINE_H_
#define ASHLAR_RUNTIME_SESSION_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace ashlar {

struct PipelineOptions {
  // Limit on runs in flight; each has its own stream, inputs, outputs and staging.
  int in_flight = 2;
  // false: all runs share an arena and compute one after the other; this is enough to overlap
  // copies with computation. true: each run has an arena, so computation overlaps as well.
  bool arena_each = false;
};

// A pipeline of runs. On the host nothing overlaps: Start does all the work, in one arena. Not
// thread-safe.
class Pipeline {
 public:
  // ResourceExhausted, naming the needed bytes, if the device has too little memory.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(
      std::shared_ptr<const Executable> executable, const PipelineOptions& options);

  // Returns the session of the next run: bind its tensors here, and do not touch them until Wait
  // has returned for it. Earlier bindings stay. Null if the limit of runs in flight is reached.
  Session* next();
  // Starts the next run. If it fails here, it is not in flight, and the others continue. The first
  // run of each session takes longer, because it is recorded.
  absl::Status Start();
  // Waits for the outputs of the oldest run. If it failed, the others continue.
  absl::Status Wait();

  // Runs in flight, and their limit.
  int running() const { return running_; }
  int in_flight() const { return static_cast<int>(sessions_.size()); }
  int arenas() const { return arenas_; }
  // Returns the first session's Session::recording_status that is not OK.
  absl::Status recording_status() const;
  // Bytes of device memory that all sessions hold together, without the weights.
  int64_t device_bytes() const;

 private:
  Pipeline() = default;

  int arenas_ = 0;
  std::vector<std::unique_ptr<Session>> sessions_;  // take turns
  int oldest_ = 0;                                  // index of the session that Wait waits for next
  int running_ = 0;
  Session* last_started_ = nullptr;  // set if all share an arena
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_PIPELINE_H_
